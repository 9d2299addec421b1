import { endLinksWithKeys } from '../../entities/apps/ext-app-link.sql.ts'
import type { ChangedPerson } from '../core/hooks.ts'
import { runNamed } from '../core/run-named.ts'

/** Apps ask a person again who has made other keys: the passkey that they have opens nothing any more. */
export const endLinksOfOldKeys = async ({ em, userId }: ChangedPerson): Promise<void> => {
  await runNamed(em, endLinksWithKeys, [userId])
}
