import type { AppToConnect } from '../../entities/apps/ext-app.sql.ts'
import type { Context } from '../core/context.ts'
import { apiPath } from '../core/settings.ts'

const PURPOSE = 'logo of an external app'

/**
 * Returns the path of an app's logo on our pages, signed for as long as a connect request is valid. Returns null if the
 * app has no logo.
 */
export function buildLogoPath(
  { services }: Context,
  { id, logoUrl }: Pick<AppToConnect, 'id' | 'logoUrl'>,
): string | null {
  if (logoUrl === null) return null
  const { vault, settings } = services
  const expires = String(Math.floor(Date.now() / 1000) + settings.connectRequestSeconds)
  const search = new URLSearchParams({ expires, signature: vault.seal(`${id} ${expires}`, PURPOSE) })
  return `${apiPath(settings.brand)}/ext-apps/actions/proxy-logo/${id}?${search}`
}

/** True if the signature is ours and has not expired. */
export function isLogoUrlValid(
  { services: { vault } }: Context,
  { id, expires, signature }: Record<'id' | 'expires' | 'signature', string>,
) {
  if (Number(expires) * 1000 <= Date.now()) return false
  try {
    return vault.open(signature, PURPOSE) === `${id} ${expires}`
  } catch {
    return false
  }
}
