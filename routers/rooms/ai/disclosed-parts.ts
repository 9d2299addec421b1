import { createHmac } from 'node:crypto'
import type { DisclosedPart } from '../../../entities/rooms/room-disclosure.ts'
import type { RoomQuestion } from './question.ts'

/** What is kept of all that a model is given: whose it is, how large, and a hash that only who has the key can compare. */
export const disclosedParts = (key: Buffer, messages: RoomQuestion['messages']): DisclosedPart[] =>
  messages.flatMap(({ role, source, content }) =>
    content.map((part) => {
      const [kind, bytes] =
        part.type === 'text' ? ['text', Buffer.from(part.text)] : [part.mime, Buffer.from(part.data, 'base64')]
      const hash = createHmac('sha256', key).update(bytes).digest('base64url')
      return { role, message: source, kind, bytes: bytes.length, hash }
    }),
  )
