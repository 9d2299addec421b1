import type { AiRequest } from '../shared/api/types.ts'
import { joinTexts } from '../shared/conversation/answer-segments.ts'
import type { OpenedMessage } from './message-content.ts'
import { findFirstWithFiles, type History, type PathMessage } from './sent-history.ts'

type RequestMessage = AiRequest['messages'][number]
type SentMessage = PathMessage & { attachments: readonly Pick<OpenedMessage['attachments'][number], 'id' | 'name'>[] }

/** What a model reads beside the texts of a chat. */
interface SentTexts {
  /** The question that a summary answers, so that the conversation alternates as some models need it. */
  summaryRequest: string
  /** Writes what stands in place of a file that was read long ago. */
  writeFileName: (name: string) => string
}

/** Converts a history to the messages of a request: the summary, and what follows it. It only grows at its end. */
export function toRequestMessages(
  history: History<SentMessage>,
  maxTokens: number | undefined,
  texts: SentTexts,
): RequestMessage[] {
  const firstWithFiles = findFirstWithFiles(history, maxTokens)
  const { summary, messages } = history
  return [
    ...(summary ? toSummaryMessages(summary.answer.text, texts) : []),
    ...messages.flatMap((message) => toRequestMessage(message, message.number >= firstWithFiles, texts)),
  ]
}

const toSummaryMessages = (text: string, { summaryRequest }: SentTexts): RequestMessage[] => [
  { role: 'user', content: [{ type: 'text', text: summaryRequest }] },
  { role: 'assistant', content: [{ type: 'text', text }] },
]

/** Converts a stored message; an empty one is left out. Of an answer only its texts are sent, and no tool call. */
function toRequestMessage(
  { role, answer, attachments, isUnreadable }: SentMessage,
  hasFiles: boolean,
  { writeFileName }: SentTexts,
): RequestMessage[] {
  const text = joinTexts(answer)
  if (isUnreadable) return []
  if (role === 'assistant') return text === '' ? [] : [{ role, content: [{ type: 'text', text }] }]
  const files = attachments.map(({ id, name }) =>
    hasFiles
      ? { type: 'attachment' as const, id, optional: true }
      : { type: 'text' as const, text: writeFileName(name) },
  )
  const content = [...files, ...(text === '' ? [] : [{ type: 'text' as const, text }])]
  return content.length === 0 ? [] : [{ role, content }]
}
