import { markAnnouncementAccepted } from '../../../entities/system/announcement.sql.ts'
import type { Hooks } from '../../core/hooks.ts'
import { runNamed } from '../../core/run-named.ts'

/** Keeps that somebody who registers has accepted the policy that was shown to them. */
export async function acceptPolicy({ userId, em, policy }: Hooks['user-registered']): Promise<void> {
  if (policy) await runNamed(em, markAnnouncementAccepted, [policy.id, userId, policy.version])
}
