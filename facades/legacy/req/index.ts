import multipart from '@fastify/multipart'
import type { FastifyInstance } from 'fastify'
import { readOlderBodies } from '../../http/json-text.ts'
import type { FacadeOptions } from '../../http/procedures.ts'
import { announcements } from './announcements.ts'
import { conversations } from './conversations.ts'
import { invitations } from './invitations.ts'
import { profile } from './profile.ts'
import { rooms } from './rooms.ts'
import { streamAi } from './stream-ai.ts'
import { translateIds } from './translate-ids.ts'

interface OlderOptions extends FacadeOptions {
  /** Pause between the empty lines of a silent answer of a model, in milliseconds. */
  heartbeat: number
}

/** The requests of front ends that exist, with a session: each calls the procedures that JSON:API and programs call. */
export async function olderRequests(app: FastifyInstance, { heartbeat, ...options }: OlderOptions) {
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'))
  readOlderBodies(app)
  // What asks for it stands in the body, so it comes once that is read, and before any handler looks at it.
  app.addHook('preHandler', translateIds(options.contextOf))
  await app.register(multipart)
  for (const part of [announcements, conversations, rooms, invitations, profile]) await app.register(part, options)
  await app.register(streamAi, { ...options, heartbeat })
}
