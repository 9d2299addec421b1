import { createHmac } from 'node:crypto'
import type { DisclosedPart } from '../../../entities/rooms/room-disclosure.ts'
import type { Message } from '../../ports/ai/messages.ts'
import type { RoomQuestion } from './question.ts'

type Asked = RoomQuestion['messages'][number]

/**
 * What is kept of all that a model is given: whose it is, how large, and a hash that only who has the key can compare. `given`
 * are the messages that were asked, part by part, with what is in their attachments.
 */
export const disclosedParts = (key: Buffer, asked: readonly Asked[], given: readonly Message[]): DisclosedPart[] =>
  asked.flatMap(({ role, source, content }, at) =>
    content.map((part, index) => {
      const [kind, bytes] = contentOf(given[at]?.content[index])
      const hash = createHmac('sha256', key).update(bytes).digest('base64url')
      const attachment = part.type === 'attachment' && { attachment: part.id }
      return { role, message: source, ...attachment, kind, bytes: bytes.length, hash }
    }),
  )

function contentOf(part: Message['content'][number] | undefined): [kind: string, bytes: Buffer] {
  if (part?.type === 'text') return ['text', Buffer.from(part.text)]
  if (part?.type === 'file') return [part.mime, Buffer.from(part.data, 'base64')]
  return ['name', Buffer.from(part?.type === 'skipped' ? part.name : '')]
}
