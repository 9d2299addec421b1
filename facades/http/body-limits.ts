import type { AnyTRPCProcedure } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { type BodySize, metaOf } from '../../routers/core/trpc.ts'

export type BodyLimits = Readonly<Record<BodySize, number>>

interface ConfiguredSizes {
  AI_MAX_BODY: number
  AI_MAX_BODY_WITH_FILES: number
  MAX_AVATAR_FILE_SIZE: number
  KEYCHAIN_MAX_BYTES: number
}

const KB = 1024

/** Bytes of a body, by what it carries. A character that is written as \uXXXX takes six. */
export const readBodyLimits = ({
  AI_MAX_BODY,
  AI_MAX_BODY_WITH_FILES,
  MAX_AVATAR_FILE_SIZE,
  KEYCHAIN_MAX_BYTES,
}: ConfiguredSizes): BodyLimits => ({
  form: 16 * KB,
  record: 64 * KB,
  'long text': 384 * KB,
  // A part of one, with at least one message of any size.
  conversation: 1024 * KB,
  'first keys': 512 * KB,
  // For 500 members, and the two long texts of a room.
  'room keys': 896 * KB,
  // With the names around keys and values.
  keychain: Math.ceil(KEYCHAIN_MAX_BYTES * 1.25) + 512 * KB,
  // As base64 in a document, which may have long texts beside it.
  picture: Math.ceil(MAX_AVATAR_FILE_SIZE * 1.4) + 384 * KB,
  'AI request': AI_MAX_BODY,
  'AI request with files': AI_MAX_BODY_WITH_FILES,
})

/** Bodies that are in memory as long as a model answers. */
const reservedSizes: readonly BodySize[] = ['AI request', 'AI request with files']

/** The largest body among those of these procedures that are held; 0 where none is. */
export const getReservedBytes = (procedures: readonly AnyTRPCProcedure[], limits: BodyLimits): number =>
  Math.max(0, ...procedures.map((procedure) => getReservedBytesOf(metaOf(procedure).body, limits)))

const getReservedBytesOf = (size: BodySize | undefined, limits: BodyLimits) =>
  size && reservedSizes.includes(size) ? limits[size] : 0

/** Counts the bytes of a body until it is answered, and refuses it unread where too many are held already. */
export function reserveBodyMemory(
  { caller, services }: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  maxBytes: number,
) {
  if (maxBytes === 0 || caller.type !== 'user') return
  const announced = request.headers['content-length']
  const bytes = announced === undefined ? maxBytes : Math.min(Number(announced), maxBytes)
  const reservation = services.aiBytes.acquire(`${caller.person.id}`, bytes)
  reply.raw.once('close', () => reservation[Symbol.dispose]())
}
