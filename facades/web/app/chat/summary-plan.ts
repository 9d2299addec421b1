import { joinTexts } from '../shared/conversation/answer-segments.ts'
import { findFirstWithFiles, type History, type PathMessage } from './sent-history.ts'
import { estimateMessageTokens, estimateTokens } from './token-estimate.ts'

/** The share of a chat, and of its model's input, that stays as it is behind a summary. */
const KEPT_SHARE = 0.25

/** What a new summary will stand for. */
interface SummaryPlan<M extends PathMessage> {
  /** The summary before it, which it takes up. */
  previous: M | undefined
  older: readonly M[]
  firstSent: number
  replaced: number
}

/**
 * Splits a history before its last quarter, at a question, so that a question keeps its answer and a tool call its
 * result. If the last question alone takes more, all before it is summarised. Returns undefined if there is nothing.
 */
export function planSummary<M extends PathMessage>(
  history: History<M>,
  maxTokens: number | undefined,
): SummaryPlan<M> | undefined {
  const { summary: previous, messages } = history
  const firstWithFiles = findFirstWithFiles(history, maxTokens)
  const tokens = messages.map((message) => estimateMessageTokens(message, firstWithFiles))
  const sumFrom = (start: number) => tokens.slice(start).reduce((all, each) => all + each, 0)
  const budget = KEPT_SHARE * Math.min(sumFrom(0), maxTokens ?? Number.POSITIVE_INFINITY)
  const starts = [...messages.keys()].filter((at) => at > 0 && beginsQuestion(messages, at))
  const start = starts.find((at) => sumFrom(at) <= budget) ?? starts.at(-1)
  const first = start === undefined ? undefined : messages[start]
  if (!first) return undefined
  const older = messages.slice(0, start)
  const replaced = (previous?.answer.summary?.replaced ?? 0) + older.length
  return { previous, older, firstSent: first.number, replaced }
}

/** Questions that nobody has answered are sent together with the next one. */
const beginsQuestion = (messages: readonly PathMessage[], at: number): boolean =>
  messages[at]?.role === 'user' && messages[at - 1]?.role !== 'user'

/** Writes messages for the model that summarises them, with names in place of files, in parts of so many tokens. */
export function writeTranscript(messages: readonly PathMessage[], maxTokens: number): string[] {
  const parts: { text: string; tokens: number }[] = []
  for (const text of messages.map(writeEntry).flatMap((entry) => splitText(entry, maxTokens))) {
    const tokens = estimateTokens(text)
    const last = parts.at(-1)
    if (last && last.tokens + tokens <= maxTokens)
      parts.splice(-1, 1, { text: `${last.text}\n\n${text}`, tokens: last.tokens + tokens })
    else parts.push({ text, tokens })
  }
  return parts.map(({ text }) => text)
}

function writeEntry({ role, answer, attachments }: PathMessage): string {
  const files = attachments.map(({ name }) => `[${name}]`)
  return [`${role}:`, ...files, joinTexts(answer)].filter((line) => line !== '').join('\n')
}

/** Splits a text into pieces of so many tokens. */
export function splitText(text: string, maxTokens: number): string[] {
  const pieces = Math.max(1, Math.ceil(estimateTokens(text) / maxTokens))
  const length = Math.max(1, Math.ceil(text.length / pieces))
  return Array.from({ length: pieces }, (_, at) => text.slice(at * length, (at + 1) * length).toWellFormed()).filter(
    (piece) => piece !== '',
  )
}
