import { deleteKnowledge, listKnowledgeIds } from '../../../entities/assistants/knowledge.sql.ts'
import type { Erasure } from '../../core/hooks.ts'
import { runStatement } from '../../core/run-statement.ts'

/** Deletes the knowledge of a person who is being erased, with all of its files. */
export async function deleteKnowledgeOnErase({ em, changes, userId, report }: Erasure): Promise<void> {
  const knowledge = await runStatement(em, listKnowledgeIds, [userId])
  const files = await runStatement(em, deleteKnowledge, [knowledge.map(({ id }) => id)])
  changes.dropFiles(
    files.map(({ uuid }) => uuid),
    'knowledge',
  )
  report['knowledge'] = { deleted: knowledge.length, kept: 0 }
  report['knowledge_files'] = { deleted: files.length, kept: 0 }
}
