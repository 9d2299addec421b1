import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { createCaller } from '../../../routers/index.ts'
import { toFailure } from '../../http/failure.ts'
import { type FacadeOptions, routeTo } from '../../http/procedures.ts'
import { bodyIn, errorHandler } from './errors.ts'

/** Which text was read, where a page says so. */
const readVersion = z.object({ version: z.string().max(64).optional() })

type OfOne = { Params: { id: string } }

/** Routes for announcements. What is unknown, or not for the caller, fails as these front ends expect it. */
export async function announcements(app: FastifyInstance, options: FacadeOptions) {
  app.setErrorHandler(errorHandler({}))
  readRoutes(app, options)
  markRoute(app, options, { path: 'seen', procedure: 'markSeen', done: 'seen' })
  markRoute(app, options, { path: 'report', procedure: 'accept', done: 'accepted' })
}

function readRoutes(app: FastifyInstance, options: FacadeOptions): void {
  app.get<OfOne>('/req/announcement/render/:id', routeTo('announcements.read', options), async (request, reply) => {
    const { id } = request.params
    const found = await orElse((await apiOf(options, request, reply)).read({ id }), undefined)
    if (!found) return reply.code(404).type('text/plain').send('Announcement not found or unauthorized')
    return { success: true, view: found.text }
  })

  app.get(
    '/req/announcement/fetchLatestPolicy',
    routeTo('announcements.latestPolicy', options),
    async (request, reply) => {
      const found = await orElse((await apiOf(options, request, reply)).latestPolicy(), undefined)
      if (!found) return reply.code(404).send({ success: false, message: 'Failed to fetch latest policy' })
      const { text: view, ...announcement } = found
      return { success: true, announcement: olderRow(announcement), view }
    },
  )
}

interface Mark {
  path: string
  procedure: 'markSeen' | 'accept'
  /** What the front end is told was done. */
  done: string
}

function markRoute(app: FastifyInstance, options: FacadeOptions, { path, procedure, done }: Mark): void {
  app.post<OfOne>(
    `/req/announcement/${path}/:id`,
    routeTo(`announcements.${procedure}`, options),
    async (request, reply) => {
      const { id } = request.params
      const given = procedure === 'accept' ? { id, ...bodyIn(readVersion, request) } : { id }
      const isMarked = await orElse(
        (await apiOf(options, request, reply))[procedure](given).then(() => true),
        false,
      )
      if (!isMarked) return reply.code(400).send({ success: false, message: `Failed to mark announcement as ${done}` })
      return { success: true, message: `Announcement marked as ${done}` }
    },
  )
}

const apiOf = async ({ contextOf }: FacadeOptions, request: FastifyRequest, reply: FastifyReply) =>
  createCaller(await contextOf(request, reply)).announcements

interface Row {
  id: string
  isForced: boolean
  isGlobal: boolean
  startsAt: string
  expiresAt: string | null
}

/** As a row of the table was written. */
const olderRow = ({ id, isForced, isGlobal, startsAt, expiresAt, ...rest }: Row) => ({
  ...{ id: Number(id), ...rest, is_forced: isForced, is_global: isGlobal },
  ...{ starts_at: startsAt, expires_at: expiresAt },
})

/** What stands for something that is not there, or whose id can be none. */
async function orElse<T, E>(work: Promise<T>, instead: E): Promise<T | E> {
  return work.catch((error: unknown) => {
    if (['not_found', 'invalid'].includes(toFailure(error).code)) return instead
    throw error
  })
}
