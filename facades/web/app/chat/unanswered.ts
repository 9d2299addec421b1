import type { Comparison, Side } from '../shared/conversation/answer.ts'
import { writeStored } from '../shared/local-store.ts'

/**
 * Why questions have no answer, in the words of the page, as far as this tab knows it. The tab's storage survives a
 * reload, and another tab cannot take its running answer for a lost one.
 */
const STORAGE_KEY = 'svc:unanswered'

/** The most questions that are kept. */
const MAX_KEPT = 100

type Reasons = Record<string, string>

const readReasons = (): Reasons => JSON.parse(sessionStorage.getItem(STORAGE_KEY) ?? '{}')

/** A question, or one of the two answers to it that stand side by side. */
export interface UnansweredQuestion {
  slug: string
  /** The number of the question. */
  parent: number
  side?: Side | undefined
}

const nameQuestion = ({ slug, parent, side }: UnansweredQuestion) =>
  `${slug}/${parent}${side === undefined ? '' : `/${side}`}`

/** Finds the reason; for a question that two models were asked, that of the first one which has failed. */
export function findReason(question: UnansweredQuestion): string | undefined {
  const reasons = readReasons()
  const sides = question.side === undefined ? ([undefined, 0, 1] as const) : [question.side]
  return sides.map((side) => reasons[nameQuestion({ ...question, side })]).find((reason) => reason !== undefined)
}

/** True while the page is closed, which ends its streams like a failure. */
let isClosing = false
addEventListener('pagehide', () => {
  isClosing = true
})
addEventListener('pageshow', () => {
  isClosing = false
})

/** Waits while the page is closed; only a page that comes back goes on. */
export async function untilOpen(): Promise<void> {
  if (isClosing) await new Promise((resolve) => addEventListener('pageshow', resolve, { once: true }))
}

/** Records why a question has no answer, or removes the reason for undefined. */
export function recordReason(question: UnansweredQuestion, reason: string | undefined): void {
  if (isClosing) return
  const name = nameQuestion(question)
  const { [name]: _, ...others } = readReasons()
  const entries = Object.entries(reason === undefined ? others : { ...others, [name]: reason })
  writeStored(STORAGE_KEY, Object.fromEntries(entries.slice(-MAX_KEPT)), sessionStorage)
}

const COMPARED_KEY = 'svc:compared'

/** The models that were asked together, by their sides. */
export type Compared = Pick<Comparison, 'models' | 'isBlind'>

const readCompared = (): Record<string, Compared> => JSON.parse(sessionStorage.getItem(COMPARED_KEY) ?? '{}')

/** Keeps which models were asked together, as nothing else tells after a reload before one of them has answered. */
export function recordCompared({ slug, parent }: UnansweredQuestion, { models, isBlind }: Compared): void {
  const entries = Object.entries({ ...readCompared(), [nameQuestion({ slug, parent })]: { models, isBlind } })
  writeStored(COMPARED_KEY, Object.fromEntries(entries.slice(-MAX_KEPT)), sessionStorage)
}

/** Finds the models of a question that two were asked last; undefined if one was asked since. */
export function findCompared({ slug, parent }: UnansweredQuestion): Compared | undefined {
  const name = nameQuestion({ slug, parent })
  return readReasons()[name] === undefined ? readCompared()[name] : undefined
}
