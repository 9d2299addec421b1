import type { FastifyInstance } from 'fastify'
import { registerForms } from '../../http/forms.ts'
import { readJsonBodies } from '../../http/json-text.ts'
import type { FacadeOptions, LegacyRoute } from '../../http/procedures.ts'
import { announcements } from './announcements.ts'
import { conversations } from './conversations.ts'
import { invitations } from './invitations.ts'
import { profile } from './profile.ts'
import { rooms } from './rooms.ts'
import { streamAi } from './stream-ai.ts'
import { addIdVariant, translateIds } from './translate-ids.ts'

interface LegacyRequestOptions extends FacadeOptions {
  /** Pause between the empty lines of a silent answer of a model, in milliseconds. */
  heartbeat: number
  /** Receives each route for conversations, rooms, invitations and models. */
  recordRoute(route: LegacyRoute): void
}

/** Registers the requests of legacy front ends with a session, which call the same procedures as the JSON:API. */
export async function legacyRequests(
  app: FastifyInstance,
  { heartbeat, recordRoute, ...options }: LegacyRequestOptions,
) {
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'))
  // Legacy front ends declare JSON without a body, too.
  readJsonBodies(app, { canBeEmpty: true })
  await registerForms(app)
  // The version is in the body, so ids are translated after parsing and before the handlers.
  app.addHook('preHandler', translateIds(options.resolveContext))
  for (const part of [announcements, profile]) await app.register(part, options)
  await app.register(async (recorded) => {
    recorded.addHook('onRoute', ({ method, url, config }) => {
      const { routeMeta } = config ?? {}
      if (routeMeta && method !== 'HEAD')
        recordRoute({ ...routeMeta, body: addIdVariant(url, routeMeta.body), method: String(method), url })
    })
    for (const part of [conversations, rooms, invitations]) await recorded.register(part, options)
    await recorded.register(streamAi, { ...options, heartbeat })
  })
}
