import { setImmediate as endOfTurn } from 'node:timers/promises'
import type { Statement } from '../../entities/sql/statement.ts'

interface Asked<Item, Found> {
  items: Set<Item>
  found: Promise<Found>
}

interface Turn<Item, Found> {
  over: Promise<void>
  asked: Map<string, Asked<Item, Found>>
}

/**
 * Gathers what is asked for under one key in one turn of the event loop, and finds all of it together at the end of the
 * turn. What is found is as fresh as if each had asked alone, because the question is sent after the last of them asked.
 */
export class Turns<Item, Found> {
  /** Each turn has a map of its own: one that lives on keeps what went through it until the old heap is collected. */
  #turn: Turn<Item, Found> | undefined

  ask(key: string, items: readonly Item[], find: (items: Item[]) => Promise<Found>): Promise<Found> {
    this.#turn ??= this.#begin()
    const { asked, over } = this.#turn
    const known = asked.get(key) ?? begun(over, find)
    asked.set(key, known)
    for (const item of items) known.items.add(item)
    return known.found
  }

  #begin(): Turn<Item, Found> {
    const end = () => {
      this.#turn = undefined
    }
    return { over: endOfTurn().then(end), asked: new Map() }
  }
}

function begun<Item, Found>(over: Promise<void>, find: (items: Item[]) => Promise<Found>): Asked<Item, Found> {
  const items = new Set<Item>()
  return { items, found: over.then(() => find([...items])) }
}

/** Equal for the same statement with the same values. */
export const questionOf = ({ name, text }: Statement<unknown>, values: readonly unknown[]) =>
  `${name || text} ${JSON.stringify(values)}`
