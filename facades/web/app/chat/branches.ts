import type { OpenedMessage } from './message-content.ts'

/** A message on the shown path through the tree of messages. */
export interface PathStep {
  message: OpenedMessage
  /** The numbers of all versions of the message, itself included. */
  versions: readonly number[]
  /** The number of the parent message. */
  parentNumber: number
}

/** The number that the first message has as its parent. */
export const ROOT_NUMBER = 0

/**
 * Follows the tree from its beginning over a message to the newest one after it. Without a message, or with one that is
 * not loaded, the path leads to the newest message of all. It passes over answers that were not chosen.
 */
export function buildPath(messages: readonly OpenedMessage[], shownNumber: number | undefined): PathStep[] {
  const parents = mapParents(messages)
  const end = findNewestAfter(messages, parents, shownNumber)
  if (!end) return []
  const numbersByParent = Map.groupBy(parents.keys(), (number) => parents.get(number))
  return collectPath(messages, parents, end).map((message) => {
    const parentNumber = parents.get(message.number) ?? ROOT_NUMBER
    return { message, versions: numbersByParent.get(parentNumber) ?? [], parentNumber }
  })
}

/** Maps the number of each message to that of its parent. */
type Parents = ReadonlyMap<number, number>

/** A parent that was deleted counts as the beginning. One that is not loaded keeps its number. */
function mapParents(messages: readonly OpenedMessage[]): Parents {
  const numbers = new Set(messages.map(({ number }) => number))
  const first = messages[0]?.number ?? ROOT_NUMBER
  const entries = messages.map(({ number, parent }, index): [number, number] => {
    const before = messages[index - 1]?.number ?? ROOT_NUMBER
    if (parent === null) return [number, before]
    return [number, parent < first || numbers.has(parent) ? parent : ROOT_NUMBER]
  })
  return new Map(entries)
}

function findNewestAfter(
  messages: readonly OpenedMessage[],
  parents: Parents,
  shownNumber: number | undefined,
): OpenedMessage | undefined {
  const unchosen = listUnchosen(messages, parents)
  if (shownNumber === undefined || !parents.has(shownNumber))
    return messages.findLast(({ number }) => !unchosen.has(number))
  const reached = new Set([shownNumber])
  // Parents precede their children.
  for (const [number, parent] of parents) if (reached.has(parent)) reached.add(number)
  return messages.findLast(({ number }) => number === shownNumber || (reached.has(number) && !unchosen.has(number)))
}

/** Lists the answers beside one that was chosen, which may be newer than it. With one that has been followed, the chat went on. */
function listUnchosen(messages: readonly OpenedMessage[], parents: Parents): ReadonlySet<number> {
  const compared = messages.flatMap(({ number, answer: { comparison } }) =>
    comparison ? [{ number, ...comparison }] : [],
  )
  const decided = new Set(compared.filter(({ isChosen }) => isChosen).map(({ id }) => id))
  const followed = new Set(parents.values())
  const unchosen = compared.filter(({ id, isChosen, number }) => decided.has(id) && !isChosen && !followed.has(number))
  return new Set(unchosen.map(({ number }) => number))
}

/** Returns the number of the message to which the path leads if none was chosen. */
export const findDefaultEnd = (messages: readonly OpenedMessage[]): number | undefined =>
  findNewestAfter(messages, mapParents(messages), undefined)?.number

/** Collects the messages from the beginning of a branch, as far as it is loaded, up to this message. */
function collectPath(messages: readonly OpenedMessage[], parents: Parents, end: OpenedMessage): OpenedMessage[] {
  const path: OpenedMessage[] = []
  let number: number | undefined = end.number
  for (const message of messages.toReversed()) {
    if (message.number !== number) continue
    path.unshift(message)
    number = parents.get(number)
  }
  return path
}

/** Returns the messages from the beginning of a message's branch, as far as it is loaded, up to the message itself. */
export function findPathTo(messages: readonly OpenedMessage[], number: number): OpenedMessage[] {
  const end = messages.find((message) => message.number === number)
  return end ? collectPath(messages, mapParents(messages), end) : []
}

/** Returns the path up to and including this message; undefined if the path doesn't contain it. */
export function takeStepsUpTo(steps: readonly PathStep[], parent: number): readonly PathStep[] | undefined {
  if (parent === ROOT_NUMBER) return []
  const index = steps.findIndex(({ message }) => message.number === parent)
  return index === -1 ? undefined : steps.slice(0, index + 1)
}
