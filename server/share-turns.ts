import type { Sql } from '../entities/sql.ts'

/**
 * Runs what was asked for with the same values in one turn of the event loop once, at the end of the turn. Everybody's
 * rows are as fresh as if each had asked alone, because the statement is sent after the last of them asked.
 */
export function shareTurns(run: Sql): Sql {
  const asked = new Map<string, Promise<unknown[]>>()
  return <Row>(...[statement, values = []]: Parameters<Sql>) => {
    const key = `${statement.name} ${JSON.stringify(values)}`
    const rows = asked.get(key) ?? endOfTurn(asked, key).then(() => run(statement, values))
    asked.set(key, rows)
    return rows as Promise<Row[]>
  }
}

const endOfTurn = (asked: Map<string, unknown>, key: string) =>
  new Promise<void>((now) => {
    setImmediate(() => {
      asked.delete(key)
      now()
    })
  })
