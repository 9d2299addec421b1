/** The word that somebody most likely meant: at most a third of it may be wrong. */
export function closest(typed: string, words: readonly string[]): string | undefined {
  const [best] = words
    .map((word) => ({ word, distance: distance(typed, word) }))
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.length / 3)))
    .sort((one, other) => one.distance - other.distance)
  return best?.word
}

/** How many letters must be added, left out, replaced or swapped with their neighbour to make one word the other. */
function distance(one: string, other: string): number {
  const rows = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  const at = (i: number, j: number) => rows[i]?.[j] ?? Number.POSITIVE_INFINITY
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    rows.push(row)
    for (let j = 1; j <= other.length; j++) {
      const replaced = at(i - 1, j - 1) + (one[i - 1] === other[j - 1] ? 0 : 1)
      const isSwap = one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1]
      row[j] = Math.min(at(i - 1, j) + 1, at(i, j - 1) + 1, replaced, isSwap ? at(i - 2, j - 2) + 1 : replaced)
    }
  }
  return at(one.length, other.length)
}
