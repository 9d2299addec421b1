import type { OpenedMessage } from './message-content.ts'

/** A message on the shown path through the tree of messages. */
export interface PathStep {
  message: OpenedMessage
  /** The numbers of all versions of the message, itself included. */
  versions: readonly string[]
  /** The number of the parent message. */
  parentNumber: string
}

/** The parent of the first message. */
const ROOT_NUMBER = '0.000'

/** The chosen version among the children of each message, by the number of the parent. */
export type Choices = Readonly<Record<string, string>>

/** Follows the tree from the first message to the last one, by the chosen versions or else the newest. */
export function buildPath(messages: readonly OpenedMessage[], choices: Choices): PathStep[] {
  const childrenByParent = Map.groupBy(messages.keys(), (index) => findParentNumber(messages, index))
  const steps: PathStep[] = []
  let parentNumber: string | undefined = ROOT_NUMBER
  while (parentNumber !== undefined) {
    const versions: OpenedMessage[] = (childrenByParent.get(parentNumber) ?? []).flatMap(
      (index) => messages[index] ?? [],
    )
    const message: OpenedMessage | undefined =
      versions.find(({ number }) => number === choices[parentNumber ?? '']) ?? versions.at(-1)
    if (message) steps.push({ message, versions: versions.map(({ number }) => number), parentNumber })
    parentNumber = message?.number
  }
  return steps
}

/** Returns the number of a message's parent. A parent that is not loaded or was deleted counts as the beginning. */
function findParentNumber(messages: readonly OpenedMessage[], index: number): string {
  const parent = messages[index]?.parent
  const before = messages[index - 1]?.number ?? ROOT_NUMBER
  if (parent === null || parent === undefined) return before
  const number = toMessageNumber(parent)
  return messages.some((message) => message.number === number) ? number : ROOT_NUMBER
}

/** Returns the choices that put a message on the shown path. */
export function findChoicesFor(messages: readonly OpenedMessage[], number: string): Choices {
  return toChoices(findPathTo(messages, number))
}

/** Returns the choices that put a path on display. */
export const toChoices = (path: readonly OpenedMessage[]): Choices =>
  Object.fromEntries(path.map(({ number }, index) => [path[index - 1]?.number ?? ROOT_NUMBER, number]))

/** Returns the messages from the beginning of a message's branch, as far as it is loaded, up to the message itself. */
export function findPathTo(messages: readonly OpenedMessage[], number: string): OpenedMessage[] {
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

/**
 * Converts the number by which `parent` refers to a message, such as `12`, to the number of the message, such as
 * `12.000`.
 */
export const toMessageNumber = (parent: number) => `${parent}.000`

/** Converts the number of a message to the number by which `parent` refers to it; 0 if there is no message. */
export const toParent = (message: OpenedMessage | undefined): number =>
  Number.parseInt(message?.number ?? ROOT_NUMBER, 10)

/** Returns the path up to and including this message; undefined if the path doesn't contain it. */
export function takeStepsUpTo(steps: readonly PathStep[], parent: number): readonly PathStep[] | undefined {
  if (parent === 0) return []
  const index = steps.findIndex(({ message }) => toParent(message) === parent)
  return index === -1 ? undefined : steps.slice(0, index + 1)
}
