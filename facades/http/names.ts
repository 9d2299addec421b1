import { apiPath } from '../../routers/core/settings.ts'

/** Names that contain the brand of the installation. */
export interface WireNames {
  brand: string
  /** Base path of the JSON:API. */
  basePath: string
  /** Base path of the JSON:API with member names as declared, for pages of this service. */
  pageApi: string
  /** Cookies of a session, of a pending sign-in at a provider, and of a known browser. */
  sessionCookie: string
  loginCookie: string
  knownCookie: string
  /** Member of `meta` in every response to a write. */
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
