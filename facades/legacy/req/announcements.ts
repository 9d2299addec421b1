import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { createCaller } from '../../../routers/index.ts'
import { toFailure } from '../../http/failure.ts'
import { type FacadeOptions, procedureRoute } from '../../http/procedures.ts'
import { createErrorHandler, parseBody } from './errors.ts'

/** The version of the text that was read, if the page sends it. */
const versionBody = z.object({ version: z.string().max(64).optional() })

type AnnouncementParams = { Params: { id: string } }

/** Registers the routes for announcements. Unknown or hidden ones fail as legacy front ends expect. */
export async function announcements(app: FastifyInstance, options: FacadeOptions) {
  app.setErrorHandler(createErrorHandler({}))
  registerReadRoutes(app, options)
  registerMarkRoute(app, options, { path: 'seen', procedure: 'markSeen', done: 'seen' })
  registerMarkRoute(app, options, { path: 'report', procedure: 'accept', done: 'accepted' })
}

function registerReadRoutes(app: FastifyInstance, options: FacadeOptions): void {
  app.get<AnnouncementParams>(
    '/req/announcement/render/:id',
    procedureRoute('announcements.read', options),
    async (request, reply) => {
      const { id } = request.params
      const found = await catchMissing((await createApi(options, request, reply)).read({ id }), undefined)
      if (!found) return reply.code(404).type('text/plain').send('Announcement not found or unauthorized')
      return { success: true, view: found.text }
    },
  )

  app.get(
    '/req/announcement/fetchLatestPolicy',
    procedureRoute('announcements.latestPolicy', options),
    async (request, reply) => {
      const found = await catchMissing((await createApi(options, request, reply)).latestPolicy(), undefined)
      if (!found) return reply.code(404).send({ success: false, message: 'Failed to fetch latest policy' })
      const { text: view, ...announcement } = found
      return { success: true, announcement: toLegacyRow(announcement), view }
    },
  )
}

interface MarkRoute {
  path: string
  procedure: 'markSeen' | 'accept'
  /** The verb in the response. */
  done: string
}

function registerMarkRoute(app: FastifyInstance, options: FacadeOptions, { path, procedure, done }: MarkRoute): void {
  app.post<AnnouncementParams>(
    `/req/announcement/${path}/:id`,
    procedureRoute(`announcements.${procedure}`, options),
    async (request, reply) => {
      const { id } = request.params
      const input = procedure === 'accept' ? { id, ...parseBody(versionBody, request) } : { id }
      const isMarked = await catchMissing(
        (await createApi(options, request, reply))[procedure](input).then(() => true),
        false,
      )
      if (!isMarked) return reply.code(400).send({ success: false, message: `Failed to mark announcement as ${done}` })
      return { success: true, message: `Announcement marked as ${done}` }
    },
  )
}

const createApi = async ({ resolveContext }: FacadeOptions, request: FastifyRequest, reply: FastifyReply) =>
  createCaller(await resolveContext(request, reply)).announcements

interface Row {
  id: string
  isForced: boolean
  isGlobal: boolean
  startsAt: string
  expiresAt: string | null
}

/** Converts an announcement to its legacy row. */
const toLegacyRow = ({ id, isForced, isGlobal, startsAt, expiresAt, ...rest }: Row) => ({
  id: Number(id),
  ...rest,
  is_forced: isForced,
  is_global: isGlobal,
  starts_at: startsAt,
  expires_at: expiresAt,
})

/** Returns a fallback for something that does not exist, or has an impossible id. */
async function catchMissing<T, E>(work: Promise<T>, fallback: E): Promise<T | E> {
  return work.catch((error: unknown) => {
    if (['not_found', 'invalid'].includes(toFailure(error).code)) return fallback
    throw error
  })
}
