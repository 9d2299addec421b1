import type { OpenedMessage } from './message-content.ts'

/** A message on the shown path through the tree of messages. */
export interface PathStep {
  message: OpenedMessage
  /** The numbers of all versions of the message, itself included. */
  versions: readonly string[]
  /** The number of the parent message. */
  follows: string
}

/** The parent of the first message. */
const ROOT_NUMBER = '0.000'

/** The chosen version among the children of each message, by the number of the parent. */
export type Choices = Readonly<Record<string, string>>

/** Follows the tree from the first message to the last one, by the chosen versions or else the newest. */
export function buildPath(messages: readonly OpenedMessage[], choices: Choices): PathStep[] {
  const following = Map.groupBy(messages.keys(), (index) => findParentNumber(messages, index))
  const steps: PathStep[] = []
  let follows: string | undefined = ROOT_NUMBER
  while (follows !== undefined) {
    const versions: OpenedMessage[] = (following.get(follows) ?? []).flatMap((index) => messages[index] ?? [])
    const message: OpenedMessage | undefined =
      versions.find(({ number }) => number === choices[follows ?? '']) ?? versions.at(-1)
    if (message) steps.push({ message, versions: versions.map(({ number }) => number), follows })
    follows = message?.number
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
  const choices: Record<string, string> = {}
  let index = messages.findIndex((message) => message.number === number)
  while (index >= 0) {
    const { number: version = '' } = messages[index] ?? {}
    const follows = findParentNumber(messages, index)
    choices[follows] = version
    // Parents precede their children, so the search goes backwards.
    index = messages.slice(0, index).findLastIndex((message) => message.number === follows)
  }
  return choices
}

/**
 * Converts the number by which `parent` refers to a message, such as `12`, to the number of the message, such as
 * `12.000`.
 */
export const toMessageNumber = (parent: number) => `${parent}.000`

/** Returns the number by which a next message refers to the last one as its parent. */
export const getLastNumber = (steps: readonly PathStep[]): number =>
  Number.parseInt(steps.at(-1)?.message.number ?? ROOT_NUMBER, 10)

/** Returns the path up to and including this message. */
export const takeStepsUpTo = (steps: readonly PathStep[], parent: number): readonly PathStep[] =>
  steps.slice(0, 1 + steps.findIndex(({ message }) => Number.parseInt(message.number, 10) === parent))
