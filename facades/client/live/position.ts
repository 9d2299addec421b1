/** A place in a stream of changes: `{epoch}:{seq}`. */
export type Position = string

export const epochOf = (position: Position): string => position.slice(0, position.indexOf(':'))
export const seqOf = (position: Position): number => Number(position.slice(position.indexOf(':') + 1))

/** The place of the change that comes next. */
export const nextTo = (position: Position): Position => `${epochOf(position)}:${seqOf(position) + 1}`

/** Whether a place is behind another one, or cannot be compared with it. */
export const isAhead = (one: Position, other: Position): boolean =>
  epochOf(one) !== epochOf(other) || seqOf(one) > seqOf(other)
