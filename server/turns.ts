import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Sql } from '../entities/sql.ts'

/**
 * Looks up all that is asked for in one turn of the event loop together, at the end of the turn. What is found is as
 * fresh as if each had asked alone, because the question is sent after the last of them asked.
 */
export function lookUpByTurns<Key, Found>(find: (keys: Key[]) => Promise<Map<Key, Found>>) {
  let asked = new Set<Key>()
  let found: Promise<Map<Key, Found>> | undefined

  async function findAsked() {
    await endOfTurn()
    const keys = [...asked]
    asked = new Set()
    found = undefined
    return find(keys)
  }

  return async (key: Key): Promise<Found | undefined> => {
    asked.add(key)
    found ??= findAsked()
    return (await found).get(key)
  }
}

/** The same for statements: each runs once for all who ask with the same values. */
export function shareTurns(run: Sql): Sql {
  const asked = new Map<string, Promise<unknown[]>>()
  return <Row>(...[statement, values = []]: Parameters<Sql>) => {
    const key = `${statement.name} ${JSON.stringify(values)}`
    const runOnce = async () => {
      await endOfTurn()
      asked.delete(key)
      return run(statement, values)
    }
    const rows = asked.get(key) ?? runOnce()
    asked.set(key, rows)
    return rows as Promise<Row[]>
  }
}
