import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment } from '../sql/columns.ts'
import { Room } from './room.ts'
import { RoomMessage } from './room-message.ts'

/** `lost`: the process that made the answer was gone, or stopped, before it ended. */
const disclosureStates = ['answering', 'completed', 'failed', 'cancelled', 'lost'] as const
export type DisclosureState = (typeof disclosureStates)[number]

/** A text or a file that a model was given, without a word of it. */
export interface DisclosedPart {
  role: 'system' | 'user' | 'assistant'
  /** The id of the message in the room that it is of; null where it is of none. */
  message: string | null
  /** The attachment that it is, by its id or uuid. */
  attachment?: string
  /** `text`, or the media type of a file; `name` where the model is told only that there is a file which it is not given. */
  kind: string
  bytes: number
  /** HMAC-SHA-256 under the key of the room, in base64url: members can compare it, and nobody else can guess short texts. */
  hash: string
}

/** What a member of a room disclosed to a model for an answer in the room, and how that answer ended. */
export const RoomDisclosure = defineEntity({
  name: 'RoomDisclosure',
  tableName: 'room_disclosures',
  indexes: [{ properties: ['room', 'id'] }],
  properties: {
    id,
    createdAt: moment().defaultRaw('now()'),
    room: () => p.manyToOne(Room).deleteRule('cascade').ref(),
    /** Who asked; nobody where they were erased. */
    user: () => p.manyToOne(User).deleteRule('set null').nullable().index().ref(),
    provider: p.string().length(120),
    model: p.string().length(200),
    parts: p.json().$type<DisclosedPart[]>(),
    state: p.enum(disclosureStates),
    /** The code of what went wrong. */
    error: p.string().length(64).nullable(),
    endedAt: moment().nullable(),
    /** Renewed by the process that makes the answer; afterwards any process ends it. Nothing once it has ended. */
    leaseUntil: moment().nullable().index(),
    answer: () => p.manyToOne(RoomMessage).deleteRule('set null').nullable().index().ref(),
  },
})
