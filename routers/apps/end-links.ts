import { endLinksWithKeys } from '../../entities/apps/ext-app-link.sql.ts'
import { actorOf, type Context } from '../core/context.ts'
import type { ChangedPerson } from '../core/hooks.ts'
import { runNamed } from '../core/run-named.ts'

/** Apps ask a person again who has made other keys: the passkey that they have opens nothing any more. */
export const endLinksOfOldKeys = async ({ em, userId }: ChangedPerson): Promise<void> => {
  await runNamed(em, endLinksWithKeys, [userId])
}

/** Tells the operator which links of an app have ended, with the tokens of theirs. */
export function noteEnded(ctx: Context, appId: number, links: readonly { id: number }[]): void {
  const linkIds = links.map(({ id }) => id)
  ctx.services.log.info({ ...actorOf(ctx), appId, linkIds }, 'links with an external app were ended')
}
