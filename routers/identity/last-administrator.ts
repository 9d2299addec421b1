import type { EntityManager } from '@mikro-orm/postgresql'
import { findAdministrator } from '../../entities/identity/user.sql.ts'
import { locks, waitForTurn } from '../../entities/sql/locks.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'

/** Throws where a transaction has left nobody who administers, which only the host may do: two that remove each other take turns. */
export async function assertAdministratorLeft({ origin }: Context, em: EntityManager): Promise<void> {
  if (origin === 'host') return
  await runStatement(em, waitForTurn, [locks.changeAdministrators])
  const [left] = await runStatement(em, findAdministrator, [])
  if (!left)
    throw new Problem('conflict', {
      detail: 'Nobody would administer this service. Make somebody else an administrator first.',
    })
}
