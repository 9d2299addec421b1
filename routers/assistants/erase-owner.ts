import { giveToEditors } from '../../entities/assistants/assistant.sql.ts'
import type { Erasure } from '../core/hooks.ts'
import { runForOneRow } from '../core/run-statement.ts'
import { recordOutdated } from './assistant-changes.ts'

/** Gives the assistants of a person who is being erased to their first editors; those without one are deleted with the person. */
export async function giveAwayOnErase({ em, changes, userId, report }: Erasure): Promise<void> {
  const { given, known } = await runForOneRow(em, giveToEditors, [userId])
  if (known > 0) recordOutdated(changes)
  report['assistants'] = { deleted: 0, kept: given }
}
