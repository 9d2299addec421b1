import { api } from '../shared/api/client.ts'
import type { AiRequest } from '../shared/api/types.ts'
import { type Comparison, otherSide, type Side } from '../shared/conversation/answer.ts'
import { buildRequest, type ChatContext, finishTurn } from './chat-requests.ts'
import { type OpenedMessage, serializeAnswer } from './message-content.ts'
import { lockComparison, putMessageInCache, readMessage, updateMessage } from './messages.ts'
import { isKeeping } from './temporary-chats.ts'
import { turns } from './turn.ts'
import { type Compared, recordCompared, recordReason } from './unanswered.ts'

/** The model whose answer to the next question will stand beside that of the chosen one. */
export interface ComparedModel {
  modelId: string
  isBlind: boolean
}

const sides = [0, 1] as const satisfies Side[]

/** Requests the answers of two models to a question. What both can take is reserved before either is asked. */
export function requestComparison(chat: Omit<ChatContext, 'modelId'>, parent: number, compared: Compared): void {
  if (isKeeping(chat.slug)) return
  const { isBlind } = compared
  const models = isBlind ? shuffle(compared.models) : compared.models
  const id = crypto.randomUUID()
  const question = { slug: chat.slug, parent }
  recordCompared(question, { models, isBlind })
  recordReason(question, undefined)
  const requests = Promise.all(
    models.map((modelId) => buildRequest({ ...chat, modelId }, { parent }, new AbortController().signal)),
  )
  const reserved = requests.then(reserve)
  // Each side reports the failure.
  reserved.catch(() => {})
  const runs = sides.map(async (side) => {
    const readRequest = async () => {
      const [built, reservations] = await Promise.all([requests, reserved])
      const [request, reservation] = [built[side], reservations[side]]
      if (!request) throw new Error('A side has a request.')
      return { ...request, ...(reservation !== undefined && { reservation }) }
    }
    const comparison = { id, side, models, isBlind }
    await turns.run({ ...chat, modelId: models[side], readRequest, parent, comparison })
  })
  void Promise.all(runs).then(() => finishTurn(chat, parent))
}

/** Puts two models into an order that doesn't tell which one the person chose first. */
const shuffle = ([first, second]: Compared['models']): Compared['models'] =>
  Math.random() < 0.5 ? [first, second] : [second, first]

/** Reserves for the larger request, as what is sent of a long chat depends on the model. */
async function reserve(requests: readonly AiRequest[]): Promise<string[]> {
  const [largest] = requests.toSorted((one, other) => measure(other) - measure(one))
  if (!largest) return []
  const { model: _model, answerModel: _answerModel, ...request } = largest
  const models = requests.map(({ model }) => model)
  const answerModels = requests.map(({ answerModel = null }) => answerModel)
  return (await api.ai.reserve.mutate({ ...request, models, answerModels })).reservations
}

const measure = ({ messages }: AiRequest): number => JSON.stringify(messages).length

/** Requests another answer on one side. */
export function requestSide(chat: Omit<ChatContext, 'modelId'>, parent: number, comparison: Comparison): void {
  if (isKeeping(chat.slug)) return
  const context = { ...chat, modelId: comparison.models[comparison.side] }
  const readRequest = (signal: AbortSignal) => buildRequest(context, { parent }, signal)
  void turns.run({ ...context, readRequest, parent, comparison }).then(() => finishTurn(context, parent))
}

/** Records that the chat goes on with this answer. The other one ends, and stays as another version. */
export async function chooseAnswer(
  { slug, key }: Omit<ChatContext, 'modelId'>,
  shown: OpenedMessage,
  comparison: Comparison,
): Promise<void> {
  const { number } = shown
  await turns.end(slug, otherSide(comparison.side))
  const stored = await lockComparison(comparison, async () => {
    // More of the answer may have come in another tab.
    const { answer, isComplete } = (await readMessage(key, slug, number)) ?? shown
    const content = await key.seal(serializeAnswer({ ...answer, comparison: { ...comparison, isChosen: true } }))
    return updateMessage({ slug, number, content, isComplete: isComplete ?? true })
  })
  await putMessageInCache(key, slug, stored)
  turns.clearSides(slug)
}
