import { defineEntity, p } from '@mikro-orm/core'
import { User } from '../identity/user.ts'
import { id, moment } from '../sql/columns.ts'
import { Room } from './room.ts'
import { RoomMessage } from './room-message.ts'

/** `lost`: the process died or stopped before the answer ended. */
const disclosureStates = ['answering', 'completed', 'failed', 'cancelled', 'lost'] as const
export type DisclosureState = (typeof disclosureStates)[number]

/** A text or file that was sent to a model, without its content. */
export interface DisclosedHash {
  bytes: number
  /** HMAC-SHA-256 with the room's key, in base64url, so that only members can compare it or guess short texts. */
  hash: string
}

/** A part of the messages that were sent to a model. */
export interface DisclosedPart extends DisclosedHash {
  role: 'system' | 'user' | 'assistant'
  /** The id of the message; null if it is part of none. */
  message: string | null
  /** The attachment, by id or uuid. */
  attachment?: string
  /** `text`, or the media type of a file; `name` if the model was only told that a file exists. */
  kind: string
}

/** The knowledge that models read for an answer. */
export interface DisclosedKnowledge {
  /** The embedding model that read the searches; null if none did, as in a search by words. */
  embedding: { provider: string; model: string } | null
  /** The texts that it read, in their order. */
  searches: DisclosedHash[]
  /** The number of passages that the model was given, which its answer may quote. */
  passages: number
}

/** A disclosure of room content to a model for an answer, and the outcome of that answer. */
export const RoomDisclosure = defineEntity({
  name: 'RoomDisclosure',
  tableName: 'room_disclosures',
  indexes: [{ properties: ['room', 'id'] }],
  properties: {
    id,
    createdAt: moment().defaultRaw('now()'),
    room: () => p.manyToOne(Room).deleteRule('cascade').ref(),
    /** The asker; null if they were erased. */
    user: () => p.manyToOne(User).deleteRule('set null').nullable().index().ref(),
    provider: p.string().length(120),
    model: p.string().length(200),
    /** The assistant that was asked, with its version, as in `helper@3`; null for a model that was asked itself. */
    assistant: p.string().length(80).nullable(),
    parts: p.json().$type<DisclosedPart[]>(),
    /** Null for an answer without knowledge. */
    knowledge: p.json().$type<DisclosedKnowledge>().nullable(),
    state: p.enum(disclosureStates),
    /** The error code. */
    error: p.string().length(64).nullable(),
    endedAt: moment().nullable(),
    /** Lease of the process that makes the answer; after its expiry any process may end it. Null once it has ended. */
    leaseUntil: moment().nullable().index(),
    answer: () => p.manyToOne(RoomMessage).deleteRule('set null').nullable().index().ref(),
  },
})
