import type { AnyTRPCProcedure } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Context } from '../../routers/core/context.ts'
import { Problem } from '../../routers/core/problems.ts'
import { type BodySize, metaOf } from '../../routers/core/trpc.ts'

export type BodyLimits = Readonly<Record<BodySize, number>>

interface ConfiguredSizes {
  AI_MAX_BODY: number
  AI_MAX_BODY_WITH_FILES: number
  MAX_AVATAR_FILE_SIZE: number
  KEYCHAIN_MAX_BYTES: number
}

const KB = 1024

/** Returns the body limits in bytes by kind. A character may take six bytes as \uXXXX. */
export const readBodyLimits = ({
  AI_MAX_BODY,
  AI_MAX_BODY_WITH_FILES,
  MAX_AVATAR_FILE_SIZE,
  KEYCHAIN_MAX_BYTES,
}: ConfiguredSizes): BodyLimits => ({
  form: 16 * KB,
  record: 64 * KB,
  'long text': 384 * KB,
  // A part of a conversation with at least one message of any size.
  conversation: 1024 * KB,
  'first keys': 512 * KB,
  // Keys for 500 members, and the two long texts of a room.
  'room keys': 896 * KB,
  // Includes the member names around keys and values.
  keychain: Math.ceil(KEYCHAIN_MAX_BYTES * 1.25) + 512 * KB,
  // The picture as base64, with long texts beside it.
  picture: Math.ceil(MAX_AVATAR_FILE_SIZE * 1.4) + 384 * KB,
  'tool call': 256 * KB,
  'AI request': AI_MAX_BODY,
  'AI request with files': AI_MAX_BODY_WITH_FILES,
})

/** Kinds of bodies that stay in memory while a model answers. */
const reservedSizes: readonly BodySize[] = ['AI request', 'AI request with files']

/** Returns the largest reserved body of the procedures; 0 if there is none. */
export const getReservedBytes = (procedures: readonly AnyTRPCProcedure[], limits: BodyLimits): number =>
  Math.max(0, ...procedures.map((procedure) => getReservedSize(metaOf(procedure).body, limits)))

const getReservedSize = (size: BodySize | undefined, limits: BodyLimits) =>
  size && reservedSizes.includes(size) ? limits[size] : 0

/** Reserves memory for a body until its response is sent; refuses the request unread if too much is reserved. */
export function reserveBodyMemory(
  { caller, services }: Context,
  request: FastifyRequest,
  reply: FastifyReply,
  maxBytes: number,
) {
  if (maxBytes === 0 || caller.type !== 'user') return
  // The client may have left during the authentication; `close` would not fire again.
  if (reply.raw.closed) throw new Problem('client_gone')
  const announced = request.headers['content-length']
  const bytes = announced === undefined ? maxBytes : Math.min(Number(announced), maxBytes)
  const reservation = services.limits.aiBytes.acquire(`${caller.person.id}`, bytes)
  reply.raw.once('close', () => reservation[Symbol.dispose]())
}
