import type { AnyTRPCProcedure } from '@trpc/server'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BodySize } from '../../routers/core/body-size.ts'
import type { Context } from '../../routers/core/context.ts'
import { metaOf } from '../../routers/core/trpc.ts'
import type { BodyLimits } from './body-limits.ts'

/** Bodies that are in memory as long as a model answers. */
const held: readonly BodySize[] = ['AI request', 'AI request with files']

/** The largest body among those of these procedures that are held; 0 where none is. */
export const countHeldBytes = (procedures: readonly AnyTRPCProcedure[], limits: BodyLimits): number =>
  Math.max(0, ...procedures.map((procedure) => countBytes(metaOf(procedure).body, limits)))

const countBytes = (size: BodySize | undefined, limits: BodyLimits) => (size && held.includes(size) ? limits[size] : 0)

/** Counts the bytes of a body until it is answered, and refuses it unread where too many are held already. */
export function holdBody({ caller, services }: Context, request: FastifyRequest, reply: FastifyReply, most: number) {
  if (most === 0 || caller.type !== 'user') return
  const announced = request.headers['content-length']
  const bytes = announced === undefined ? most : Math.min(Number(announced), most)
  const hold = services.aiBytes.take(`${caller.person.id}`, bytes)
  reply.raw.once('close', () => hold[Symbol.dispose]())
}
