import type { EntityManager } from '@mikro-orm/postgresql'
import { findSearchable, lockKnowledge } from '../../../entities/assistants/knowledge.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'

/** The same for knowledge of others and for knowledge that never was. */
export const createUnknownKnowledge = () => new Problem('not_found', { detail: 'You have no such knowledge.' })

export async function assertOwn({ services }: Context, owner: number, id: number): Promise<void> {
  const [found] = await services.sql(findSearchable, [owner, id])
  if (!found) throw createUnknownKnowledge()
}

export async function lockOwn(em: EntityManager, owner: number, id: number): Promise<void> {
  const [found] = await runStatement(em, lockKnowledge, [owner, id])
  if (!found) throw createUnknownKnowledge()
}
