import {
  type AnswerKnowledge,
  openKnowledge,
  type QuestionSearch,
} from '../../assistants/knowledge/answer-knowledge.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import type { ChatContext } from '../chat-context.ts'
import type { AiRequest, RequestMessage, ResolvedMessage } from './request.ts'

/** Characters at the end of a question by which knowledge is searched for it. */
const MAX_QUESTION = 2000

/** Opens the knowledge of the assistant, if it has any. Searches nothing yet. */
export async function openAssistantKnowledge(
  ctx: ChatContext,
  { assistant, messages, toolChoice = 'auto' }: AiRequest,
  { limits, settings }: CallableModel,
  roomId?: number,
): Promise<AnswerKnowledge | undefined> {
  if (!assistant?.hasKnowledge) return undefined
  return openKnowledge(ctx, {
    person: ctx.caller.person.id,
    assistant,
    maxInputTokens: limits?.maxInputTokens ?? undefined,
    canSearch: toolChoice === 'auto' && settings?.toolCalling !== false,
    isByWordsAlone: roomId !== undefined,
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

/** Searches for the question, if the model does not, and adds what is found behind it. */
export async function addPassages(
  messages: readonly ResolvedMessage[],
  search: QuestionSearch | undefined,
): Promise<readonly ResolvedMessage[]> {
  const at = findQuestion(messages)
  const question = messages[at]
  if (!search || question?.role !== 'user') return messages
  return messages.with(at, { ...question, content: [...question.content, await search.find()] })
}

const findQuestion = (messages: readonly RequestMessage[]): number =>
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
