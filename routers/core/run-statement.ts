import type { EntityManager } from '@mikro-orm/postgresql'
import type { Sql, Statement } from '../../entities/sql/statement.ts'
import { traceStatement } from '../ports/traces.ts'

/** The only method used here of a transaction of the query builder below the ORM. */
interface Transaction {
  executeQuery(query: object): Promise<{ rows: unknown[] }>
}

/**
 * Runs a named statement in a transaction, so that PostgreSQL parses and plans it once per connection: planning would
 * take time while a lock is held. The ORM would write the values into the text.
 */
export async function runStatement<Row>(
  em: EntityManager,
  { name, text }: Statement<Row>,
  values: readonly unknown[],
): Promise<Row[]> {
  const transaction = em.getTransactionContext<Transaction>()
  if (!transaction) throw new Error(`${name} belongs in a transaction`)
  // The driver accepts a named statement in place of a text.
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

/** Returns a function that runs statements in the transaction. */
export const createTransactionSql =
  (em: EntityManager): Sql =>
  async (query, values = []) => {
    const rows = await runStatement(em, query, values)
    const { read } = query
    return read ? rows.map((row) => read(row as object)) : rows
  }
