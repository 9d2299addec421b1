import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'
import { createCaller } from '../../routers/index.ts'
import { type FacadeOptions, procedureRoute } from '../http/procedures.ts'

interface AuthOptions extends FacadeOptions {
  path: string
}

interface AuthRequest {
  Body: { socket_id?: string; channel_name?: string } | null
}

/** Registers the route with which Pusher clients authorize a subscription, once per channel and connection. */
export async function broadcastingAuth(app: FastifyInstance, { path, ...options }: AuthOptions) {
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'))
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_: unknown, body: string) => Object.fromEntries(new URLSearchParams(body)),
  )
  const { onRequest, bodyLimit } = procedureRoute('realtime.authorize', options)
  app.post<AuthRequest>(
    path,
    { bodyLimit, onRequest: (request, reply) => onRequest(request, reply).catch(forbidGuests(path)) },
    createAuthorizeHandler(options),
  )
}

const createAuthorizeHandler =
  ({ resolveContext }: FacadeOptions) =>
  async (request: FastifyRequest<AuthRequest>, reply: FastifyReply) => {
    const { socket_id: socketId = '', channel_name: channel = '' } = request.body ?? {}
    return createCaller(await resolveContext(request, reply)).realtime.authorize({ socketId, channel })
  }

/** Converts a missing sign-in to 403, which front ends expect; only programs get 401. */
const forbidGuests = (path: string) => (thrown: unknown) => {
  if (path.startsWith('/api/') || !(thrown instanceof Problem) || thrown.problem !== 'signed_out') throw thrown
  throw new Problem('wrong_user_type')
}
