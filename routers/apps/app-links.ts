import { findAppToConnect } from '../../entities/apps/ext-app.sql.ts'
import {
  endLinks,
  endLinksWithKeys,
  findLink,
  type LinkSecrets,
  listLinkTokens,
} from '../../entities/apps/ext-app-link.sql.ts'
import type { ChangeTransaction } from '../core/change-recorder.ts'
import { type Context, describeActor } from '../core/context.ts'
import type { ChangedPerson } from '../core/hooks.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { tokenCredential } from '../ports/credential-watch.ts'

/** Connection of an app's user: either linked to a person, or a request for the link that the app passes on. */
export type AppConnection = { userId: number; extAppSecrets: LinkSecrets } | { extAppConnectRequest: string }

/** Finds the link of a user of the calling app. Logs each read of its secrets, without them. */
export async function findConnection(ctx: Context, appId: number, extAppUserId: string): Promise<AppConnection> {
  const { sql, settings, log } = ctx.services
  const { connectRequests } = ctx.services.login
  const [link] = await sql(findLink, [appId, extAppUserId])
  if (link) {
    const { id: linkId, userId, ...extAppSecrets } = link
    log.info({ requestId: ctx.requestId, appId, linkId, userId }, 'an external app read the secrets of a link')
    return { userId, extAppSecrets }
  }
  const [app] = await sql(findAppToConnect, [appId])
  // The app was deleted after its credential was looked up.
  if (!app) throw new Problem('invalid_token')
  const expiresAt = new Date(Date.now() + settings.connectRequestSeconds * 1000)
  const request = { appId: app.id, version: settings.version, extAppUserId }
  return { extAppConnectRequest: connectRequests.write(request, { publicKey: app.publicKey, expiresAt }) }
}

const listCredentials = (links: readonly { tokenId: number }[]) => links.map(({ tokenId }) => tokenCredential(tokenId))

/**
 * Ends the links with keys of a person who has made new keys, because the passkey of such a link opens nothing any
 * more.
 */
export const endLinksOfOldKeys = async ({ em, changes, userId }: ChangedPerson): Promise<void> => {
  changes.addEnded(listCredentials(await runStatement(em, endLinksWithKeys, [userId])))
}

/** Ends all links of an app. */
export async function endAllLinks({ em, changes }: ChangeTransaction, appId: number): Promise<void> {
  changes.addEnded(listCredentials(await runStatement(em, endLinks, [appId, null, null])))
}

/** Ends the requests that a deactivated app has under way; its links stay. */
export async function suspendLinks({ em, changes }: ChangeTransaction, appId: number): Promise<void> {
  changes.addEnded(listCredentials(await runStatement(em, listLinkTokens, [appId])))
}

/** Ends the links of an app with one of its users or with one person, and logs their ids. */
export async function endAppLinks(
  ctx: Context,
  appId: number,
  { externalId, userId }: { externalId?: string; userId?: number },
): Promise<number> {
  const links = await ctx.services.sql(endLinks, [appId, externalId ?? null, userId ?? null])
  if (links.length === 0) return 0
  await ctx.services.changes.credentials.announce(listCredentials(links))
  const linkIds = links.map(({ id }) => id)
  ctx.services.log.info({ ...describeActor(ctx), appId, linkIds }, 'links with an external app were ended')
  return links.length
}
