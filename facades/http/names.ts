import { apiPath } from '../../routers/core/settings.ts'

/** What carries the word by which front ends know this service: the setting BRAND. */
export interface WireNames {
  brand: string
  /** Where the JSON:API begins. */
  basePath: string
  /** Where our own pages find it with members as they are declared. */
  pageApi: string
  /** Cookies: of a session, of a sign-in that waits for its provider, and of a browser in which an account signed in before. */
  sessionCookie: string
  loginCookie: string
  knownCookie: string
  /** In `meta` of each answer to a write. */
  syncLogMember: string
}

export const createWireNames = (brand: string, memberCase: 'camel' | 'snake' = 'camel'): WireNames => ({
  brand,
  basePath: apiPath(brand),
  pageApi: memberCase === 'camel' ? apiPath(brand) : '/req/v1',
  sessionCookie: `${brand}_session`,
  loginCookie: `${brand}_login`,
  knownCookie: `${brand}_known`,
  syncLogMember: `_${brand}_sync_log`,
})

declare module 'fastify' {
  interface FastifyInstance {
    names: WireNames
  }
}
