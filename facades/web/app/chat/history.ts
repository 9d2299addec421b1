/** The most messages of the history that are sent to a model. */
export const MAX_HISTORY = 200

/** The number of messages by which the beginning of a longer history moves at once. */
const STEP = 50

/**
 * Selects the last messages of a path, at most `MAX_HISTORY`. The first one changes only with every 50th message, so that
 * a provider finds in its cache what it has read before.
 */
export function selectHistory<M extends { number: number }>(path: readonly M[]): readonly M[] {
  const start = findStart(path.at(-MAX_HISTORY - 1))
  return start === undefined ? path : path.filter(({ number }) => number >= start)
}

/** Returns the number of the first message that is sent with the next question; undefined if all of them are. */
export function findHistoryStart(path: readonly { number: number }[]): number | undefined {
  const start = findStart(path.at(-MAX_HISTORY))
  return start === undefined ? undefined : path.find(({ number }) => number >= start)?.number
}

const findStart = (lastOmitted: { number: number } | undefined): number | undefined =>
  lastOmitted && (Math.floor(lastOmitted.number / STEP) + 1) * STEP
