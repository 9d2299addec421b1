import type { FastifyReply, FastifyRequest } from 'fastify'
import { sessionCookie } from '../../facades/http/names.ts'
import type { Browser } from '../../routers/ports/session.ts'
import type { Named } from '../stores/sessions.ts'
import { type BrowserOptions, RequestBrowser } from './browser-session.ts'
import { readCookie, writeCookie } from './cookies.ts'
import type { Callers, Identity } from './credentials.ts'
import { assertOwn, isOwn } from './csrf.ts'

export interface Identified extends Identity {
  browser?: Browser
}

export interface IdentifyOptions extends BrowserOptions {
  callers: Callers
  /** Of our own pages. */
  origin: string
}

export type Identify = (request: FastifyRequest, reply: FastifyReply) => Promise<Identified>

/** Finds out who sends a request: by its session, where one counts, else by its token. */
export function createIdentify(options: IdentifyOptions, { renews = true } = {}): Identify {
  const { callers, origin } = options

  return async (request, reply) => {
    const { authorization } = request.headers
    // With both, only our own pages can have meant the session.
    const found =
      authorization === undefined || isOwn(request, origin) ? await findSession(options, request) : undefined
    if (!found && authorization !== undefined) return callers.byBearer(authorization)
    assertOwn(request, origin, found?.named.record)
    const named = found && renews ? await renewed(options, found.named, reply) : found?.named
    const browser = new RequestBrowser(options, { request, reply, named })
    return { caller: found?.caller ?? { type: 'guest' }, usage: 'main', browser }
  }
}

/** The session of the request's cookie, and whose it is. */
async function findSession({ sessions, callers }: IdentifyOptions, { headers }: FastifyRequest) {
  const id = readCookie(headers.cookie, sessionCookie)
  const record = id ? await sessions.find(id) : undefined
  if (!id || !record) return undefined
  const caller = await callers.bySession(record)
  const named = { id, record }
  if (caller) return { caller, named }
  await sessions.end(named)
  return undefined
}

async function renewed({ sessions, secure }: IdentifyOptions, named: Named, reply: FastifyReply): Promise<Named> {
  const record = await sessions.renew(named)
  if (!record) return named
  const maxAge = Math.ceil(sessions.lifetime / 1000)
  reply.header('set-cookie', writeCookie({ name: sessionCookie, value: named.id, path: '/', maxAge, secure }))
  return { ...named, record }
}
