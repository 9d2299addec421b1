import { eraseFromAudit } from '../entities/events/audit-entry.sql.ts'
import { claimNamedLimits, returnNamedLimits } from '../routers/ai/limits/named-limits.ts'
import { endLinksOfOldKeys } from '../routers/apps/app-links.ts'
import { giveAwayOnErase } from '../routers/assistants/erase-owner.ts'
import { deleteKnowledgeOnErase } from '../routers/assistants/knowledge/erase-owner.ts'
import { endConnectionsOnErase } from '../routers/catalogue/tools/end-connections.ts'
import { createHooks, type HookRegistry } from '../routers/core/hooks.ts'
import { runStatement } from '../routers/core/run-statement.ts'
import { lockKeychain } from '../routers/identity/keychain.ts'
import { endProgramsOfUser } from '../routers/oauth/grants.ts'
import type { ReadAnnouncementText } from '../routers/ports/announcement-texts.ts'
import { deleteAttachmentsOnErase } from '../routers/rooms/attachments/message-attachments.ts'
import { deleteLinksOnErase } from '../routers/rooms/conversations/shared-links.ts'
import { requestRekeyForPerson } from '../routers/rooms/key-epochs.ts'
import { recordProfileChange } from '../routers/rooms/members/member-events.ts'
import { endMembershipsOnErase } from '../routers/rooms/members/memberships.ts'
import { deleteReactionsOnErase } from '../routers/rooms/room-reactions.ts'
import { recordAcceptedPolicy, requireAcceptance } from '../routers/system/policy-acceptance.ts'

/** Creates the hook registry with the listeners of the service itself. */
export function createServiceHooks(readAnnouncement: ReadAnnouncementText): HookRegistry {
  const hooks = createHooks()
  hooks.on('user-type-changed', lockKeychain)
  hooks.on('name-taken', claimNamedLimits)
  hooks.on('name-freed', returnNamedLimits)
  hooks.on('user-erasing', giveAwayOnErase)
  hooks.on('user-erasing', endConnectionsOnErase)
  hooks.on('user-erasing', deleteKnowledgeOnErase)
  hooks.on('user-erasing', endMembershipsOnErase)
  hooks.on('user-erasing', deleteAttachmentsOnErase)
  hooks.on('user-erasing', deleteLinksOnErase)
  hooks.on('user-erasing', deleteReactionsOnErase)
  hooks.on('user-erasing', ({ em, userId }) => runStatement(em, eraseFromAudit, [`user:${userId}`]))
  hooks.on('user-signed-out', endProgramsOfUser)
  hooks.on('user-keys-changed', requestRekeyForPerson)
  hooks.on('user-keys-changed', endLinksOfOldKeys)
  hooks.on('user-keys-changed', recordProfileChange)
  hooks.on('user-profile-changed', recordProfileChange)
  hooks.on('user-registered', recordAcceptedPolicy(readAnnouncement))
  hooks.on('user-acting', requireAcceptance(readAnnouncement))
  return hooks
}
