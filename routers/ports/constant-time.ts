import { timingSafeEqual } from 'node:crypto'

/** Compares secrets or their hashes in constant time, so that timing does not reveal where they differ. */
export function isSameSecret(one: string, other: string): boolean {
  const [first, second] = [Buffer.from(one), Buffer.from(other)]
  return first.length === second.length && timingSafeEqual(first, second)
}
