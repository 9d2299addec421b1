import type { EntityManager } from '@mikro-orm/postgresql'
import { type LockedAssistant, lockAssistantById } from '../../entities/assistants/assistant.sql.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import type { RowVerb } from '../resource/query-shape.ts'
import { lockRow, type Version } from '../verbs/lock-row.ts'
import { createUnknownAssistant, type PersonContext, type VersionRef } from './assistant-changes.ts'
import { assistants } from './assistant-types.ts'
import { changeContent } from './change-assistant.ts'
import type { AssistantContent } from './content.ts'

/** Locks an assistant that the caller may change, in the version that was read. */
export async function lockById(
  ctx: PersonContext,
  em: EntityManager,
  { id, ifVersion }: Version,
  verb: RowVerb = 'update',
): Promise<LockedAssistant> {
  await lockRow(ctx, em, assistants, { id, ifVersion, verb })
  const [locked] = await runStatement(em, lockAssistantById, [ctx.caller.person.id, id])
  if (!locked) throw createUnknownAssistant()
  return locked
}

/** Saves a change of the newest version as a draft; what is wrong with it is named as JSON:API names it. */
export const saveContent = (
  ctx: PersonContext,
  em: EntityManager,
  assistant: LockedAssistant,
  change: (content: AssistantContent) => AssistantContent,
): Promise<VersionRef> => withOwnPaths(changeContent(ctx, em, { assistant, change, publish: false }))

/** Names members as JSON:API has them: those of the content are attributes of the assistant. */
export async function withOwnPaths<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Problem) || error.issues.length === 0) throw error
    const issues = error.issues.map((issue) => ({ ...issue, path: issue.path.filter((step) => step !== 'content') }))
    throw new Problem(error.problem, { issues, cause: error })
  }
}
