import type { OpenedMessage } from './message-content.ts'

/** A message on the way that is shown, with the versions that stand beside it. */
export interface PathStep {
  message: OpenedMessage
  /** The numbers of the messages that follow the same one, itself among them. */
  versions: readonly string[]
  /** The number of the message that they follow. */
  follows: string
}

/** What follows the beginning of a conversation. */
const ROOT_NUMBER = '0.000'

/** The version that was chosen, by the number of the message that it follows. */
export type Choices = Readonly<Record<string, string>>

/** The messages from the beginning to the end, where there are several versions by the one that was chosen, or the newest. */
export function buildPath(messages: readonly OpenedMessage[], choices: Choices): PathStep[] {
  const following = Map.groupBy(messages.keys(), (index) => findParentNumber(messages, index))
  const steps: PathStep[] = []
  let follows: string | undefined = ROOT_NUMBER
  while (follows !== undefined) {
    const versions: OpenedMessage[] = (following.get(follows) ?? []).flatMap((index) => messages[index] ?? [])
    const chosen: OpenedMessage | undefined =
      versions.find(({ number }) => number === choices[follows ?? '']) ?? versions.at(-1)
    if (chosen) steps.push({ message: chosen, versions: versions.map(({ number }) => number), follows })
    follows = chosen?.number
  }
  return steps
}

/** The number of the message that one follows; what is not loaded or deleted counts as the beginning. */
function findParentNumber(messages: readonly OpenedMessage[], index: number): string {
  const parent = messages[index]?.parent
  const before = messages[index - 1]?.number ?? ROOT_NUMBER
  if (parent === null || parent === undefined) return before
  const number = toMessageNumber(parent)
  return messages.some((message) => message.number === number) ? number : ROOT_NUMBER
}

/** The choices by which a message is on the way that is shown. */
export function findChoicesFor(messages: readonly OpenedMessage[], number: string): Choices {
  const choices: Record<string, string> = {}
  let index = messages.findIndex((message) => message.number === number)
  while (index >= 0) {
    const { number: chosen = '' } = messages[index] ?? {}
    const follows = findParentNumber(messages, index)
    choices[follows] = chosen
    // Only earlier messages are followed.
    index = messages.slice(0, index).findLastIndex((message) => message.number === follows)
  }
  return choices
}

/** `12` is the message `12.000`. */
export const toMessageNumber = (parent: number) => `${parent}.000`

/** The number by which the last of these is named as the message that another follows. */
export const getLastNumber = (steps: readonly PathStep[]): number =>
  Number.parseInt(steps.at(-1)?.message.number ?? ROOT_NUMBER, 10)

/** The steps up to the message of this number. */
export const takeStepsUpTo = (steps: readonly PathStep[], parent: number): readonly PathStep[] =>
  steps.slice(0, 1 + steps.findIndex(({ message }) => Number.parseInt(message.number, 10) === parent))
