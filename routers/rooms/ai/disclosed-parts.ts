import { createHmac } from 'node:crypto'
import { Readable } from 'node:stream'
import type { DisclosedPart } from '../../../entities/rooms/room-disclosure.ts'
import type { Message } from '../../ports/ai/messages.ts'
import type { RoomQuestion } from './question.ts'

type Asked = RoomQuestion['messages'][number]

/**
 * What is kept of all that a model is given: whose it is, how large, and a hash that only who has the key can compare. `given`
 * are the messages that were asked, part by part, with what is in their attachments; stored files are read for their hash.
 */
export async function disclosedParts(
  key: Buffer,
  asked: readonly Asked[],
  given: readonly Message[],
): Promise<DisclosedPart[]> {
  const parts: DisclosedPart[] = []
  for (const [at, { role, source, content }] of asked.entries())
    for (const [index, part] of content.entries()) {
      const [kind, content] = contentOf(given[at]?.content[index])
      const attachment = part.type === 'attachment' && { attachment: part.id }
      parts.push({ role, message: source, ...attachment, kind, ...(await hashed(key, content)) })
    }
  return parts
}

function contentOf(part: Message['content'][number] | undefined): [kind: string, content: Readable | Buffer] {
  if (part?.type === 'text') return ['text', Buffer.from(part.text)]
  if (part?.type === 'file') return [part.mime, Buffer.from(part.data, 'base64')]
  if (part?.type === 'stored-file') return [part.mime, part.content.open()]
  return ['name', Buffer.from(part?.type === 'skipped' ? part.name : '')]
}

/** Reads a file piece by piece. */
async function hashed(key: Buffer, content: Readable | Buffer): Promise<Pick<DisclosedPart, 'bytes' | 'hash'>> {
  const hash = createHmac('sha256', key)
  let bytes = 0
  for await (const piece of content instanceof Readable ? content : [content]) {
    hash.update(piece)
    bytes += piece.length
  }
  return { bytes, hash: hash.digest('base64url') }
}
