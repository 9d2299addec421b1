import { type AnswerKnowledge, openKnowledge } from '../../assistants/knowledge/answer-knowledge.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import type { ChatContext } from '../chat-context.ts'
import type { AiRequest, RequestMessage } from './request.ts'

/** Characters at the end of a question by which knowledge is searched for it. */
const MAX_QUESTION = 2000

/** Opens the knowledge of the assistant, if it has any. With `mayAsk` false nothing is searched, as for a count of tokens. */
export async function openAssistantKnowledge(
  ctx: ChatContext,
  { assistant, messages, toolChoice = 'auto' }: AiRequest,
  { limits, settings }: CallableModel,
  mayAsk = true,
): Promise<AnswerKnowledge | undefined> {
  if (!assistant?.hasKnowledge) return undefined
  return openKnowledge(ctx, {
    person: ctx.caller.person.id,
    assistant,
    maxInputTokens: limits?.maxInputTokens ?? undefined,
    canSearch: toolChoice === 'auto' && settings?.toolCalling !== false,
    question: mayAsk ? readQuestion(messages) : '',
    lastNumber: findLastNumber(messages),
  })
}

/** Adds what the model is given of the knowledge: behind the instructions of the assistant, and behind the question. */
export function addKnowledge(request: AiRequest, { instructions, found }: AnswerKnowledge): AiRequest {
  const { system = [], messages, assistant } = request
  const at = assistant?.instructions ?? 0
  return {
    ...request,
    system: [...system.slice(0, at), instructions, ...system.slice(at)],
    ...(found && {
      messages: messages.with(findQuestion(messages), append(messages[findQuestion(messages)], found.text)),
    }),
  }
}

const findQuestion = (messages: readonly RequestMessage[]): number =>
  messages.findLastIndex(({ role }) => role === 'user')

function append(message: RequestMessage | undefined, text: string): RequestMessage {
  const content = message?.role === 'user' ? message.content : []
  return { role: 'user', content: [...content, { type: 'text', text }] }
}

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
