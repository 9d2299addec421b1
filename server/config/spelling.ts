/** The name that was probably meant; nothing where none is near: one slip is forgiven for every four letters. */
export function findNearest(typed: string, names: readonly string[]): string | undefined {
  const ranked = names
    .map((name) => ({ name, slips: slipsBetween(typed.toUpperCase(), name.toUpperCase()) }))
    .toSorted((a, b) => a.slips - b.slips)
  const [best] = ranked
  return best && best.slips <= Math.max(1, Math.floor(typed.length / 4)) ? best.name : undefined
}

/** How many letters were added, left out, changed, or swapped with their neighbour. */
function slipsBetween(one: string, other: string): number {
  const known = new Map<string, number>()
  /** Counts the slips between the first `a` letters of the one and the first `b` letters of the other. */
  function between(a: number, b: number): number {
    const key = `${a} ${b}`
    const slips = known.get(key) ?? fewest(a, b)
    known.set(key, slips)
    return slips
  }
  function fewest(a: number, b: number): number {
    if (a === 0 || b === 0) return a + b
    if (one[a - 1] === other[b - 1]) return between(a - 1, b - 1)
    const isSwap = a > 1 && b > 1 && one[a - 1] === other[b - 2] && one[a - 2] === other[b - 1]
    const before = [between(a - 1, b), between(a, b - 1), isSwap ? between(a - 2, b - 2) : between(a - 1, b - 1)]
    return 1 + Math.min(...before)
  }
  return between(one.length, other.length)
}
