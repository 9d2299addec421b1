import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import type { DisclosedHash, DisclosedPart } from '../../../entities/rooms/room-disclosure.ts'
import type { Message } from '../../ports/ai/messages.ts'
import type { RoomQuestion } from './room-question.ts'

type QuestionMessage = RoomQuestion['messages'][number]

/**
 * Describes each disclosed part by its origin, its size and a hash that only holders of the key can compare.
 * `sentMessages` are the same messages with the content of their attachments; stored files are read for their hash.
 */
export async function hashDisclosedParts(
  key: Buffer,
  messages: readonly QuestionMessage[],
  sentMessages: readonly Message[],
): Promise<DisclosedPart[]> {
  const parts: DisclosedPart[] = []
  for (const [at, { role, source, content }] of messages.entries())
    for (const [index, part] of content.entries()) {
      const [kind, content] = readContent(sentMessages[at]?.content[index])
      const attachment = part.type === 'attachment' && { attachment: part.id }
      parts.push({ role, message: source, ...attachment, kind, ...(await hashContent(key, content)) })
    }
  return parts
}

function readContent(part: Message['content'][number] | undefined): [kind: string, content: Readable | Buffer] {
  if (part?.type === 'text') return ['text', Buffer.from(part.text)]
  if (part?.type === 'file') return [part.mime, Buffer.from(part.data, 'base64')]
  if (part?.type === 'stored-file') return [part.mime, part.content.open()]
  return ['name', Buffer.from(part?.type === 'skipped' ? part.name : '')]
}

/** Computes size and HMAC while streaming the content. */
export async function hashContent(key: Buffer, content: Readable | Buffer): Promise<DisclosedHash> {
  const hash = createHmac('sha256', key)
  let bytes = 0
  for await (const piece of content instanceof Readable ? content : [content]) {
    hash.update(piece)
    bytes += piece.length
  }
  return { bytes, hash: hash.digest('base64url') }
}
