/** A piece of a text: of both versions, of the later one alone, or of the earlier one alone. */
export interface Piece {
  kind: 'same' | 'added' | 'removed'
  text: string
}

/** The most changes that are looked for; with more of them, texts are compared line by line, or as a whole. */
const MAX_CHANGES = 1000

const splitWords = (text: string): string[] => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) ?? []
const splitLines = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+/g) ?? []

/** Compares two texts word by word, by the shortest list of changes (Myers). */
export const compareWords = (before: string, after: string): Piece[] =>
  compareBy(splitWords, before, after) ??
  compareBy(splitLines, before, after) ??
  merge([
    { kind: 'removed', text: before },
    { kind: 'added', text: after },
  ])

/** Returns undefined if there are too many changes. */
function compareBy(split: (text: string) => string[], before: string, after: string): Piece[] | undefined {
  const [one, other] = [split(before), split(after)]
  let start = 0
  while (start < one.length && one[start] === other[start]) start++
  let end = 0
  const most = Math.min(one.length, other.length) - start
  while (end < most && one.at(-1 - end) === other.at(-1 - end)) end++
  const middle = compare(one.slice(start, one.length - end), other.slice(start, other.length - end))
  return (
    middle &&
    merge([
      { kind: 'same', text: one.slice(0, start).join('') },
      ...middle,
      { kind: 'same', text: one.slice(one.length - end).join('') },
    ])
  )
}

type Words = readonly string[]

function compare(one: Words, other: Words): Piece[] | undefined {
  const trace = findPath(one, other)
  if (!trace) return undefined
  const steps: Piece[][] = []
  let x = one.length
  let y = other.length
  for (const [depth, reached] of [...trace.entries()].reverse()) {
    const from = findOrigin(reached, x - y, depth)
    steps.push(listStep(one, other, { x, y }, from))
    ;[x, y] = [from.x, from.y]
  }
  return steps.reverse().flat()
}

/** Places in both texts, between words. */
interface Place {
  x: number
  y: number
}

/** The pieces between two places: at most one change, and then equal words. */
function listStep(one: Words, other: Words, { x, y }: Place, from: Place): Piece[] {
  const equal = Math.min(x - from.x, y - from.y)
  return [
    { kind: 'removed', text: one.slice(from.x, x - equal).join('') },
    { kind: 'added', text: other.slice(from.y, y - equal).join('') },
    { kind: 'same', text: one.slice(x - equal, x).join('') },
  ]
}

/** The furthest places in the first text that a number of changes reaches, by the diagonal `x - y`. */
type Reached = ReadonlyMap<number, number>

/** Returns true if a diagonal is reached further by an added word than by a removed one. */
const isReachedByAddition = (reached: Reached, diagonal: number, depth: number): boolean =>
  diagonal === -depth || (diagonal !== depth && (reached.get(diagonal - 1) ?? -1) < (reached.get(diagonal + 1) ?? -1))

/** Returns the place from which a change and equal words lead to a diagonal. */
function findOrigin(reached: Reached, diagonal: number, depth: number): Place {
  if (depth === 0) return { x: 0, y: 0 }
  const before = diagonal + (isReachedByAddition(reached, diagonal, depth) ? 1 : -1)
  const x = reached.get(before) ?? 0
  return { x, y: x - before }
}

/** Returns the places that are reached before each change; undefined if there are too many changes. */
function findPath(one: Words, other: Words): Reached[] | undefined {
  const trace: Reached[] = []
  let reached: Reached = new Map([[1, 0]])
  for (let depth = 0; depth <= Math.min(one.length + other.length, MAX_CHANGES); depth++) {
    trace.push(reached)
    reached = goFurther(one, other, reached, depth)
    if (reached.get(one.length - other.length) === one.length) return trace
  }
  return undefined
}

/** Returns the places that one more change reaches. */
function goFurther(one: Words, other: Words, reached: Reached, depth: number): Reached {
  const next = new Map<number, number>()
  for (let diagonal = -depth; diagonal <= depth; diagonal += 2) {
    const isAddition = isReachedByAddition(reached, diagonal, depth)
    let x = isAddition ? (reached.get(diagonal + 1) ?? 0) : (reached.get(diagonal - 1) ?? 0) + 1
    while (x < one.length && one[x] === other[x - diagonal]) x++
    next.set(diagonal, x)
  }
  return next
}

/** Joins neighbours of the same kind, and leaves out empty ones. */
function merge(pieces: readonly Piece[]): Piece[] {
  const merged: Piece[] = []
  for (const { kind, text } of pieces) {
    const last = merged.at(-1)
    if (text === '') continue
    if (last?.kind === kind) last.text += text
    else merged.push({ kind, text })
  }
  return merged
}
