import { findAnnouncement, markAnnouncementAccepted } from '../../../entities/system/announcement.sql.ts'
import type { Hooks, Listener } from '../../core/hooks.ts'
import { runNamed } from '../../core/run-named.ts'
import type { ReadAnnouncementText } from '../../ports/announcement-texts.ts'

/** Keeps that somebody who registers has accepted the policy that was shown to them. One whose text is lost they accept later. */
export function acceptPolicy(readText: ReadAnnouncementText): Listener<Hooks['user-registered']> {
  return async ({ userId, em, policy }) => {
    if (!policy) return
    const [found] = await runNamed(em, findAnnouncement, [policy.id, userId])
    if (found && (await readText(found.view)))
      await runNamed(em, markAnnouncementAccepted, [policy.id, userId, policy.version])
  }
}
