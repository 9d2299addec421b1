import { findAppToConnect } from '../../entities/apps/ext-app.sql.ts'
import { findLink, type LinkSecrets } from '../../entities/apps/ext-app-link.sql.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'

/** How a user of an app stands to us: linked to a person, or to be linked by a request that the app passes on. */
export type AppConnection = { userId: number; extAppSecrets: LinkSecrets } | { extAppConnectRequest: string }

/** The app is the one whose credential was sent. Each read of secrets is logged, without them. */
export async function findConnection(ctx: Context, appId: number, extAppUserId: string): Promise<AppConnection> {
  const { sql, settings, connectRequests, log } = ctx.services
  const [link] = await sql(findLink, [appId, extAppUserId])
  if (link) {
    const { id: linkId, userId, ...extAppSecrets } = link
    log.info({ requestId: ctx.requestId, appId, linkId, userId }, 'an external app read the secrets of a link')
    return { userId, extAppSecrets }
  }
  const [app] = await sql(findAppToConnect, [appId])
  // Removed since its credential was looked up.
  if (!app) throw new Problem('invalid_token')
  const expiresAt = new Date(Date.now() + settings.connectRequestSeconds * 1000)
  const request = { appId: app.id, version: settings.version, extAppUserId }
  return { extAppConnectRequest: connectRequests.write(request, { publicKey: app.publicKey, expiresAt }) }
}
