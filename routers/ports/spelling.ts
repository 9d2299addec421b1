/** Returns the most similar name; undefined if none has at most one typing error per four letters. */
export function findNearest(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: computeDistance(typed.toUpperCase(), name.toUpperCase()) }))
    .toSorted((a, b) => a.distance - b.distance)
  const [best] = ranked
  return best && best.distance <= Math.max(1, Math.floor(typed.length / 4)) ? best.name : undefined
}

/** The longest name that is compared, because the work grows with the square of the length. */
const MAX_LENGTH = 64

/**
 * Returns the most similar names, the most similar first: those with at most one typing error per four letters, and
 * those that begin with the typed name.
 */
export function findSimilar(typed: string, names: readonly string[], most = 3): string[] {
  if (typed.length > MAX_LENGTH) return []
  const upper = typed.toUpperCase()
  const maxDistance = Math.max(1, Math.floor(typed.length / 4))
  return names
    .filter(({ length }) => length <= MAX_LENGTH)
    .map((name) => ({ name, distance: computeDistance(upper, name.toUpperCase()) }))
    .filter(({ name, distance }) => distance <= maxDistance || name.toUpperCase().startsWith(upper))
    .toSorted((a, b) => a.distance - b.distance)
    .slice(0, most)
    .map(({ name }) => name)
}

/** Computes the edit distance of two words: insertions, deletions, substitutions and swaps of neighbours. */
function computeDistance(one: string, other: string): number {
  // Numbers as keys are many times faster than texts.
  const cache: number[] = []
  /** Counts the distance between the first `a` letters of the one and the first `b` letters of the other. */
  function computePrefixDistance(a: number, b: number): number {
    const key = a * (other.length + 1) + b
    const distance = cache[key] ?? countEdits(a, b)
    cache[key] = distance
    return distance
  }
  function countEdits(a: number, b: number): number {
    if (a === 0 || b === 0) return a + b
    if (one[a - 1] === other[b - 1]) return computePrefixDistance(a - 1, b - 1)
    const isSwap = a > 1 && b > 1 && one[a - 1] === other[b - 2] && one[a - 2] === other[b - 1]
    const before = [
      computePrefixDistance(a - 1, b),
      computePrefixDistance(a, b - 1),
      isSwap ? computePrefixDistance(a - 2, b - 2) : computePrefixDistance(a - 1, b - 1),
    ]
    return 1 + Math.min(...before)
  }
  return computePrefixDistance(one.length, other.length)
}
