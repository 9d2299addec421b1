import { Problem } from '../../core/problems.ts'
import type { Services } from '../../core/services.ts'

/** Maximum number of attempts if other replicas update the list concurrently. */
const MAX_TRIES = 10

/** A list of one person that all replicas share, and from which old items fall out. */
export interface StoredList<Item extends Expiring> {
  kv: Services['stores']['kv']
  key: string
  /** Milliseconds for which the list is kept after a change. */
  lifetime: number
  parse(stored: string): Item[]
  serialize(items: readonly Item[]): string
}

interface Expiring {
  /** Expiry in milliseconds since 1970. */
  until: number
}

/** Returns the items that have not expired. */
export async function readList<Item extends Expiring>(list: StoredList<Item>): Promise<Item[]> {
  return parseUnexpired(list, await list.kv.get(list.key))
}

/**
 * Updates the list with compare-and-set, and retries if another replica was faster. Returns false if the change returns
 * undefined, so that nothing is stored.
 */
export async function updateList<Item extends Expiring>(
  list: StoredList<Item>,
  applyChange: (items: readonly Item[]) => readonly Item[] | undefined,
): Promise<boolean> {
  const { kv, key, lifetime } = list
  for (let tries = 0; tries < MAX_TRIES; tries++) {
    const stored = await kv.get(key)
    const changed = applyChange(parseUnexpired(list, stored))
    if (!changed) return false
    const updated = list.serialize(changed)
    const isStored = await (stored === undefined
      ? kv.setIfAbsent(key, updated, lifetime)
      : kv.replaceIfUnchanged(key, stored, updated, lifetime))
    if (isStored) return true
  }
  throw new Problem('busy')
}

const parseUnexpired = <Item extends Expiring>({ parse }: StoredList<Item>, stored: string | undefined): Item[] =>
  stored === undefined ? [] : parse(stored).filter(({ until }) => until > Date.now())
