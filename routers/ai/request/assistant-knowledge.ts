import {
  type AnswerKnowledge,
  openKnowledge,
  type QuestionSearch,
} from '../../assistants/knowledge/answer-knowledge.ts'
import type { KnowledgeDisclosure } from '../../assistants/knowledge/disclosure.ts'
import { runUntilAborted } from '../../core/timeout.ts'
import type { CallableModel, ModelCall } from '../../ports/ai/models.ts'
import { estimateTokens } from '../../ports/ai/token-estimate.ts'
import type { ChatContext } from '../chat-context.ts'
import type { AiRequest, RequestMessage } from './request.ts'

/** Characters at the end of a question by which knowledge is searched for it. */
const MAX_QUESTION = 2000

/** Opens the knowledge of the assistant, if it has any. Searches nothing yet. */
export async function openAssistantKnowledge(
  ctx: ChatContext,
  { assistant, messages, toolChoice = 'auto' }: AiRequest,
  { limits, settings }: CallableModel,
  disclosure?: KnowledgeDisclosure,
): Promise<AnswerKnowledge | undefined> {
  if (!assistant?.hasKnowledge) return undefined
  return openKnowledge(ctx, {
    person: ctx.caller.person.id,
    assistant,
    maxInputTokens: limits?.maxInputTokens ?? undefined,
    canSearch: toolChoice === 'auto' && settings?.toolCalling !== false,
    disclosure,
    question: readQuestion(messages),
    lastNumber: findLastNumber(messages),
  })
}

/** Adds the instructions of the knowledge behind those of the assistant. */
export function addKnowledge(request: AiRequest, { instructions }: AnswerKnowledge): AiRequest {
  const { system = [], assistant } = request
  const at = assistant?.instructions ?? 0
  return { ...request, system: [...system.slice(0, at), instructions, ...system.slice(at)] }
}

/** Searches for the question, and adds what is found behind it, in place of the most tokens that the call was built with. */
export async function addPassages(call: ModelCall, search: QuestionSearch): Promise<ModelCall> {
  const { messages, inputTokens, signal } = call
  const at = findQuestion(messages)
  const question = messages[at]
  if (question?.role !== 'user') return call
  const passages = await runUntilAborted(() => search.find(), signal)
  return {
    ...call,
    messages: messages.with(at, { ...question, content: [...question.content, passages] }),
    inputTokens: inputTokens - search.maxTokens + estimateTokens(passages.text),
  }
}

const findQuestion = (messages: readonly Pick<RequestMessage, 'role'>[]): number =>
  messages.findLastIndex(({ role }) => role === 'user')

const readQuestion = (messages: readonly RequestMessage[]): string =>
  (messages[findQuestion(messages)]?.content ?? [])
    .flatMap((part) => (part.type === 'text' ? part.text : []))
    .join('\n')
    .slice(-MAX_QUESTION)
    .toWellFormed()

/** Finds the last number that the model has cited since the question, so that an answer that goes on after an approval gives others. */
function findLastNumber(messages: readonly RequestMessage[]): number {
  const turn = messages.slice(findQuestion(messages) + 1)
  const texts = turn.flatMap(({ role, content }) =>
    role === 'assistant' ? content.flatMap((part) => (part.type === 'text' ? part.text : [])) : [],
  )
  return Math.max(
    0,
    ...texts.flatMap((text) => [...text.matchAll(/\[(\d{1,3})\]/g)].map(([, number]) => Number(number))),
  )
}
