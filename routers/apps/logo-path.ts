import type { AppToConnect } from '../../entities/apps/ext-app.sql.ts'
import type { Context } from '../core/context.ts'
import { apiPath } from '../core/settings.ts'

const PURPOSE = 'logo of an external app'

/** The path at which our pages show the logo of an app, for as long as a request can be answered; null without a logo. */
export function logoPath({ services }: Context, { id, logoUrl }: Pick<AppToConnect, 'id' | 'logoUrl'>): string | null {
  if (logoUrl === null) return null
  const { vault, settings } = services
  const expires = String(Math.floor(Date.now() / 1000) + settings.connectRequestSeconds)
  const search = new URLSearchParams({ expires, signature: vault.seal(`${id} ${expires}`, PURPOSE) })
  return `${apiPath(settings.brand)}/ext-apps/actions/proxy-logo/${id}?${search}`
}

/** Whether we wrote the address, and not too long ago. */
export function isSigned(
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
