import type { EntityManager } from '@mikro-orm/postgresql'
import type { Sql, Statement } from '../../entities/sql/statement.ts'
import { traceStatement } from '../ports/traces.ts'

/** The one method used here of a transaction, which belongs to the query builder below the ORM. */
interface Transaction {
  executeQuery(query: object): Promise<{ rows: unknown[] }>
}

/**
 * Runs a statement in a transaction under its name, so that PostgreSQL parses and plans it once per connection: what holds a
 * lock that others wait for should not be planned under it. The ORM would write the values into the text.
 */
export async function runStatement<Row>(
  em: EntityManager,
  { name, text }: Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  const transaction = em.getTransactionContext<Transaction>()
  if (!transaction) throw new Error(`${name} belongs in a transaction`)
  // The driver takes a named statement where it takes a text.
  const sql = { name, text }
  const query = { kind: 'RawNode', sqlFragments: [text], parameters: [] }
  const call = { sql, query, parameters: values, queryId: { queryId: name } }
  const { rows } = await traceStatement(name, () => transaction.executeQuery(call))
  return rows as Row[]
}

/** Runs a statement that selects exactly one row, such as a sum. */
export async function runForOneRow<Row>(
  em: EntityManager,
  query: Statement<Row>,
  values: readonly unknown[],
): Promise<Row> {
  const [row] = await runStatement(em, query, values)
  if (!row) throw new Error(`${query.name} selected no row`)
  return row
}

/** Runs statements in a transaction. */
export const createTransactionSql =
  (em: EntityManager): Sql =>
  (query, values = []) =>
    runStatement(em, query, values)
