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
  /** Hears of each route for conversations, rooms, invitations and models. */
  recordRoute(route: LegacyRoute): void
}

/** The requests of front ends that exist, with a session: each calls the procedures that JSON:API and programs call. */
export async function legacyRequests(
  app: FastifyInstance,
  { heartbeat, recordRoute, ...options }: LegacyRequestOptions,
) {
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'))
  // Front ends announce JSON where there is none, too.
  readJsonBodies(app, { mayBeEmpty: true })
  await registerForms(app)
  // What asks for it stands in the body, so it comes once that is read, and before any handler looks at it.
  app.addHook('preHandler', translateIds(options.contextOf))
  for (const part of [announcements, profile]) await app.register(part, options)
  await app.register(async (recorded) => {
    recorded.addHook('onRoute', ({ method, url, config }) => {
      const { routeMeta: facts } = config ?? {}
      if (facts && method !== 'HEAD')
        recordRoute({ ...facts, body: addIdVariant(url, facts.body), method: String(method), url })
    })
    for (const part of [conversations, rooms, invitations]) await recorded.register(part, options)
    await recorded.register(streamAi, { ...options, heartbeat })
  })
}
