import type { FastifyInstance } from 'fastify'
import { readForms } from '../../http/forms.ts'
import { keys } from './keys.ts'
import { language } from './language.ts'
import { login } from './login.ts'
import type { ReqOptions } from './options.ts'
import { session } from './session.ts'
import { tokens } from './tokens.ts'

/** The requests of the pages beside JSON:API. */
export async function req(app: FastifyInstance, options: ReqOptions) {
  app.addHook('onRequest', async (_, reply) => void reply.header('cache-control', 'no-store'))
  await readForms(app)
  for (const part of [login, session, keys, tokens, language]) await app.register(part, options)
}
