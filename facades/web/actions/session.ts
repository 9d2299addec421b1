import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { createCaller } from '../../../routers/index.ts'
import { prefers } from '../../http/accept.ts'
import type { ReqOptions } from './options.ts'
import { errorHandler } from './refusal.ts'

/** Routes to read the state of a session and to end it. */
export async function session(app: FastifyInstance, { contextOf, peekContextOf }: ReqOptions) {
  app.setErrorHandler(errorHandler((refusal) => refusal))

  app.get('/check-session', async (request, reply) => {
    const current = await createCaller(await peekContextOf(request, reply)).sessions.current()
    return current.expired ? current : { expired: false, remaining: current.remaining }
  })

  app.post('/logout', async (request, reply) => {
    const { sessions } = createCaller(await contextOf(request, reply))
    return signedOut(request, reply, await sessions.logout())
  })
}

/** Redirects a form; tells a script the address. */
function signedOut({ headers }: FastifyRequest, reply: FastifyReply, { redirectUri }: { redirectUri: string }) {
  const isForm = prefers('text/html', headers.accept)
  return isForm ? reply.redirect(redirectUri, 303) : reply.send({ success: true, redirectUri })
}
