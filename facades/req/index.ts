import type { FastifyInstance } from 'fastify'
import type { ContextOf } from '../request-context.ts'
import { keys } from './keys.ts'
import { login } from './login.ts'
import { session } from './session.ts'
import { tokens } from './tokens.ts'

export interface ReqOptions {
  contextOf: ContextOf
  /** Looks at the session without using it: its time goes on. */
  peekContextOf: ContextOf
}

/** What the pages ask besides the resources. */
export async function req(app: FastifyInstance, options: ReqOptions) {
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'))
  app.addContentTypeParser(
    'application/x-www-form-urlencoded',
    { parseAs: 'string' },
    async (_: unknown, body: string) => Object.fromEntries(new URLSearchParams(body)),
  )
  for (const part of [login, session, keys, tokens]) await app.register(part, options)
}
