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

/** The chosen version among the children of each message, by the number of the parent. */
export type Choices = Readonly<Record<number, number>>

/** Follows the tree from the first message to the last one, by the chosen versions or else the newest. */
export function buildPath(messages: readonly OpenedMessage[], choices: Choices): PathStep[] {
  const childrenByParent = Map.groupBy(messages.keys(), (index) => findParentNumber(messages, index))
  const steps: PathStep[] = []
  let parentNumber: number | undefined = ROOT_NUMBER
  while (parentNumber !== undefined) {
    const versions: OpenedMessage[] = (childrenByParent.get(parentNumber) ?? []).flatMap(
      (index) => messages[index] ?? [],
    )
    const message: OpenedMessage | undefined =
      versions.find(({ number }) => number === choices[parentNumber ?? ROOT_NUMBER]) ?? versions.at(-1)
    if (message) steps.push({ message, versions: versions.map(({ number }) => number), parentNumber })
    parentNumber = message?.number
  }
  return steps
}

/** Returns the number of a message's parent. A parent that is not loaded or was deleted counts as the beginning. */
function findParentNumber(messages: readonly OpenedMessage[], index: number): number {
  const parent = messages[index]?.parent
  const before = messages[index - 1]?.number ?? ROOT_NUMBER
  if (parent === null || parent === undefined) return before
  return messages.some(({ number }) => number === parent) ? parent : ROOT_NUMBER
}

/** Returns the choices that put a message on the shown path. */
export function findChoicesFor(messages: readonly OpenedMessage[], number: number): Choices {
  return toChoices(findPathTo(messages, number))
}

/** Returns the choices that put a path on display. */
export const toChoices = (path: readonly OpenedMessage[]): Choices =>
  Object.fromEntries(path.map(({ number }, index) => [path[index - 1]?.number ?? ROOT_NUMBER, number]))

/** Returns the messages from the beginning of a message's branch, as far as it is loaded, up to the message itself. */
export function findPathTo(messages: readonly OpenedMessage[], number: number): OpenedMessage[] {
  const path: OpenedMessage[] = []
  let index = messages.findIndex((message) => message.number === number)
  while (index >= 0) {
    path.unshift(...messages.slice(index, index + 1))
    const parent = findParentNumber(messages, index)
    // Parents precede their children, so the search goes backwards.
    index = messages.slice(0, index).findLastIndex((message) => message.number === parent)
  }
  return path
}

/** Returns the path up to and including this message; undefined if the path doesn't contain it. */
export function takeStepsUpTo(steps: readonly PathStep[], parent: number): readonly PathStep[] | undefined {
  if (parent === ROOT_NUMBER) return []
  const index = steps.findIndex(({ message }) => message.number === parent)
  return index === -1 ? undefined : steps.slice(0, index + 1)
}
