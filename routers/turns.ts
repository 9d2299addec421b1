import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Sql, Statement } from '../entities/sql.ts'

interface Asked<Item, Found> {
  items: Set<Item>
  found: Promise<Found>
}

/**
 * Gathers what is asked for under one key in one turn of the event loop, and finds all of it together at the end of the
 * turn. What is found is as fresh as if each had asked alone, because the question is sent after the last of them asked.
 */
export class Turns<Item, Found> {
  readonly #asked = new Map<string, Asked<Item, Found>>()

  ask(key: string, items: readonly Item[], find: (items: Item[]) => Promise<Found>): Promise<Found> {
    const asked = this.#asked.get(key) ?? this.#begin(key, find)
    for (const item of items) asked.items.add(item)
    return asked.found
  }

  #begin(key: string, find: (items: Item[]) => Promise<Found>): Asked<Item, Found> {
    const items = new Set<Item>()
    const findAsked = async () => {
      await endOfTurn()
      this.#asked.delete(key)
      return find([...items])
    }
    const asked = { items, found: findAsked() }
    this.#asked.set(key, asked)
    return asked
  }
}

/** Looks up all that is asked for in one turn together. */
export function lookUpByTurns<Key, Found>(find: (keys: Key[]) => Promise<Map<Key, Found>>) {
  const turns = new Turns<Key, Map<Key, Found>>()
  return async (key: Key): Promise<Found | undefined> => (await turns.ask('', [key], find)).get(key)
}

/** Runs a statement once for all who ask with the same values in one turn. */
export function shareTurns(run: Sql): Sql {
  const turns = new Turns<never, unknown[]>()
  return <Row>(...[statement, values = []]: Parameters<Sql>) =>
    turns.ask(questionOf(statement, values), [], () => run(statement, values)) as Promise<Row[]>
}

/** Equal for the same statement with the same values. */
export const questionOf = ({ name, text }: Statement<unknown>, values: readonly unknown[]) =>
  `${name || text} ${JSON.stringify(values)}`
