import { InputError, isSentTooLong } from '../shared/api/error-text.ts'
import { emptyAnswer } from '../shared/conversation/answer.ts'
import { findMaxInput } from '../shared/models/assistants.ts'
import { DEMO_MODEL } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import type { ChatContext } from './chat-requests.ts'
import { refreshConversations } from './conversations.ts'
import { type OpenedMessage, readNumber, serializeAnswer } from './message-content.ts'
import { putMessageInCache, readPathTo, updateMessage } from './messages.ts'
import { hasWholeSummary, splitPath } from './sent-history.ts'
import { planSummary, splitText, writeTranscript } from './summary-plan.ts'
import { readSummary } from './summary-text.ts'
import { askForTask, readTask, type Task } from './tasks.ts'
import { getCalls } from './temporary-chats.ts'
import { estimateTokens } from './token-estimate.ts'

export interface StoredSummary {
  number: number
  /** True if it follows a question without an answer. */
  isAnswerPending: boolean
}

/** Has a summary written of all but the last part of a branch, and stores it at the end of that branch. */
export async function createSummary(
  { slug, key, modelId }: ChatContext,
  end: number,
  signal: AbortSignal,
): Promise<StoredSummary> {
  const path = await readPathTo(key, slug, { parent: end, isEnough: hasWholeSummary }, signal)
  const history = splitPath(path)
  const plan = planSummary(history, findMaxInput(modelId))
  if (!plan) throw new InputError(t('app.summary.nothing'))
  const task = await readTask('summary', modelId)
  // The demo model would answer with a sentence about itself.
  if (!task || task.modelId === DEMO_MODEL) throw new InputError(t('app.summary.noModel'))
  const text = await writeSummary(task, plan, signal)
  signal.throwIfAborted()
  const { firstSent, replaced } = plan
  const content = await key.seal(serializeAnswer({ ...emptyAnswer, text, summary: { firstSent, replaced } }))
  const message = { slug, role: 'assistant' as const, model: task.modelId, content, parent: end }
  const stored = await getCalls(slug).sendMessage.mutate(message)
  await putMessageInCache(key, slug, stored)
  void refreshConversations()
  return { number: readNumber(stored.number), isAnswerPending: history.messages.at(-1)?.role === 'user' }
}

/** The share of a model's input that is summarised at once, beside the summary so far and the instructions. */
const PART_SHARE = 0.6

/** The most tokens of a part: the service bounds what one request can carry. */
const MAX_PART_TOKENS = 250_000

/** Tokens of a part that no model can be too small for. */
const MIN_PART_TOKENS = 500

/** Summarises part by part where all of it is more than the model can read; each takes up the summary so far. */
async function writeSummary(
  task: Task,
  { previous, older }: Pick<NonNullable<ReturnType<typeof planSummary<OpenedMessage>>>, 'previous' | 'older'>,
  signal: AbortSignal,
): Promise<string> {
  const maxInput = findMaxInput(task.modelId) ?? Number.POSITIVE_INFINITY
  const parts = writeTranscript(older, Math.min(PART_SHARE * maxInput, MAX_PART_TOKENS))
  let summary = previous?.answer.text ?? ''
  for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
    try {
      summary = await summarisePart(task, { summary, part }, signal)
    } catch (error) {
      const tokens = estimateTokens(part)
      if (!isSentTooLong(error) || tokens < MIN_PART_TOKENS) throw error
      parts.unshift(...splitText(part, tokens / 2))
    }
  }
  return summary
}

async function summarisePart(
  task: Task,
  { summary, part }: { summary: string; part: string },
  signal: AbortSignal,
): Promise<string> {
  const before = summary === '' ? '' : `<summary>\n${summary}\n</summary>\n\n`
  const text = `${before}<conversation>\n${part}\n</conversation>`
  const written = readSummary(await askForTask(task, [{ role: 'user', content: [{ type: 'text', text }] }], signal))
  if (written === undefined) throw new InputError(t('app.summary.unusable'))
  return written
}

/** Changes the words of a summary, or whether it is used. */
export async function changeSummary(
  { slug, key }: Pick<ChatContext, 'slug' | 'key'>,
  { number, answer }: OpenedMessage,
  { text = answer.text, isUndone = answer.summary?.isUndone ?? false }: { text?: string; isUndone?: boolean },
): Promise<void> {
  if (!answer.summary) return
  const content = await key.seal(serializeAnswer({ ...answer, text, summary: { ...answer.summary, isUndone } }))
  await putMessageInCache(key, slug, await updateMessage({ slug, number, content, isComplete: true }))
}
