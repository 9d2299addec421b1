import {
  cancelKnowledgeFile,
  countKnowledge,
  deleteKnowledge,
  deleteKnowledgeFiles,
  insertKnowledge,
  raiseVersion,
} from '../../../entities/assistants/knowledge.sql.ts'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import { runInTransaction, withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { createQuotaProblem, Problem } from '../../core/problems.ts'
import { runForOneRow, runStatement } from '../../core/run-statement.ts'
import { lockOwn } from './own-knowledge.ts'

/** Knowledge of one person. */
const MAX_KNOWLEDGE = 200

export async function createKnowledge(
  ctx: Context,
  owner: number,
  name: string,
): Promise<{ id: number; name: string }> {
  return runInTransaction(ctx, undefined, async (em) => {
    await runStatement(em, lockPerson, [owner])
    const { count } = await runForOneRow(em, countKnowledge, [owner])
    if (count >= MAX_KNOWLEDGE)
      throw createQuotaProblem(`A person has at most ${MAX_KNOWLEDGE} collections of knowledge.`)
    const [created] = await runStatement(em, insertKnowledge, [owner, name])
    if (!created) throw new Problem('conflict', { detail: `You have knowledge of the name '${name}' already.` })
    return { ...created, name }
  })
}

export function removeKnowledge(ctx: Context, owner: number, id: number): Promise<{ id: number }> {
  return withChangeLog(ctx, async (em, changes) => {
    await lockOwn(em, owner, id)
    const files = await runStatement(em, deleteKnowledge, [[id]])
    changes.dropFiles(
      files.map(({ uuid }) => uuid),
      'knowledge',
    )
    return { id }
  })
}

/** A file of knowledge, by the ids of both. */
interface FileRef {
  id: number
  file: number
}

export function cancelFile(ctx: Context, owner: number, { id, file }: FileRef): Promise<{ id: number }> {
  return withChangeLog(ctx, async (em, changes) => {
    await lockOwn(em, owner, id)
    const [cancelled] = await runStatement(em, cancelKnowledgeFile, [id, file])
    if (!cancelled) throw new Problem('conflict', { detail: 'This file is neither being read nor embedded.' })
    if (cancelled.state === 'ready') await runStatement(em, raiseVersion, [id])
    changes.dropFiles([cancelled.uuid], 'knowledge')
    return { id: file }
  })
}

export async function deleteFile(ctx: Context, owner: number, { id, file }: FileRef): Promise<{ id: number }> {
  const { deleted } = await deleteFiles(ctx, owner, { id, files: [file] })
  if (deleted === 0) throw new Problem('not_found', { detail: 'The knowledge has no such file.' })
  return { id: file }
}

export function deleteFiles(
  ctx: Context,
  owner: number,
  { id, files }: { id: number; files: readonly number[] },
): Promise<{ deleted: number }> {
  return withChangeLog(ctx, async (em, changes) => {
    await lockOwn(em, owner, id)
    const deleted = await runStatement(em, deleteKnowledgeFiles, [id, files])
    if (deleted.some(({ state }) => state === 'ready')) await runStatement(em, raiseVersion, [id])
    changes.dropFiles(
      deleted.map(({ uuid }) => uuid),
      'knowledge',
    )
    return { deleted: deleted.length }
  })
}
