import type { FastifyInstance } from 'fastify'
import { createCaller } from '../../routers/index.ts'
import { logServerFailure, toFailure } from '../http/failure.ts'
import type { ContextResolver } from '../http/procedures.ts'
import { readSearch } from '../http/request-url.ts'

const SETTINGS = '/settings/accounts'

/** Serves what authorization servers of tool servers need: the address to which they return people, and our document. */
export function serveAccountRoutes(app: FastifyInstance, resolveContext: ContextResolver): void {
  app.get(`${SETTINGS}/back`, async (request, reply) => {
    const { toolAccounts } = createCaller(await resolveContext(request, reply))
    reply.header('cache-control', 'no-store')
    try {
      const { server } = await toolAccounts.finish({ query: readSearch(request) })
      return reply.redirect(`${SETTINGS}?connected=${server}`)
    } catch (thrown) {
      const failure = toFailure(thrown)
      logServerFailure(failure, request.log)
      const isSignedOut = failure.code === 'signed_out'
      return reply.redirect(isSignedOut ? `/login?redirectUri=${SETTINGS}` : `${SETTINGS}?failed=${failure.code}`)
    }
  })

  app.get('/oauth/client.json', async (request, reply) => {
    const { toolAccounts } = createCaller(await resolveContext(request, reply))
    const document = await toolAccounts.clientDocument()
    return reply.header('cache-control', 'public, max-age=3600').send(document)
  })
}
