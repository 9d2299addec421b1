import { z } from 'zod'
import type { Context } from '../core/context.ts'
import { refuseRequest } from '../core/oauth-refusal.ts'
import { Problem } from '../core/problems.ts'
import { toClientName } from './client-name.ts'
import { writeDynamicId } from './oauth-client.ts'
import { assertOAuthOn, assertWithinRate, isOpenTo } from './oauth-policy.ts'
import { isAcceptableRedirect } from './redirect-address.ts'

export const registration = z.strictObject({
  name: z.string().max(1000).default(''),
  redirectUris: z.array(z.string().max(4000)).max(50),
})

/** The addresses stand in the id, which must fit into the address of a page. */
const MAX_ADDRESSES = 1200

interface DynamicClient {
  clientId: string
  /** Seconds since 1970. */
  issuedAt: number
  name: string
  redirectUris: string[]
}

/**
 * Registers a program without storing anything: its id is the sealed registration. Unacceptable addresses are left out,
 * because programs register several of which they use one.
 */
export async function registerDynamic(
  ctx: Context,
  { name, redirectUris: wanted }: z.output<typeof registration>,
): Promise<DynamicClient> {
  const { settings } = ctx.services
  assertOAuthOn(settings)
  if (!isOpenTo('dynamic', settings)) throw new Problem('not_found', { detail: 'Programs cannot register themselves.' })
  await assertWithinRate(ctx)
  const redirectUris = [...new Set(wanted)].filter((address) => isAcceptableRedirect(address, settings.oauth))
  if (redirectUris.length === 0)
    throw refuseRequest(
      'No redirect_uri is allowed here: use https, http on a loopback address, or ask the administrator for OAUTH_REDIRECTS.',
      'invalid_redirect_uri',
    )
  if (redirectUris.join('').length > MAX_ADDRESSES)
    throw refuseRequest(
      `The redirect_uris have more than ${MAX_ADDRESSES} characters together.`,
      'invalid_redirect_uri',
    )
  const issuedAt = Math.floor(Date.now() / 1000)
  const shownName = toClientName(name) || 'A program'
  const clientId = writeDynamicId(ctx, { name: shownName, redirectUris, registeredAt: issuedAt })
  return { clientId, issuedAt, name: shownName, redirectUris }
}
