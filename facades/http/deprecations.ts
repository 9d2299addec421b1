import { previewPath } from './link-preview.ts'

/** A route that only older programs use. */
interface DeprecatedRoute {
  method: 'GET' | 'POST'
  path: string
  /** The successor: an address, or a path below the JSON:API if `isBelow` is set. */
  successor: string
  isBelow?: true
  /** Date of the deprecation. */
  since: `${number}-${number}-${number}`
}

const deprecatedRoutes: readonly DeprecatedRoute[] = [
  { method: 'GET', path: '/api/user', successor: '/users/me', isBelow: true, since: '2026-01-01' },
  {
    method: 'POST',
    path: '/api/link-preview',
    successor: `${previewPath}/metadata`,
    isBelow: true,
    since: '2026-01-01',
  },
  { method: 'POST', path: '/req/login-ldap', successor: '/req/login', since: '2026-01-01' },
  { method: 'GET', path: '/req/login-oidc', successor: '/req/login', since: '2026-01-01' },
  { method: 'POST', path: '/req/login-oidc', successor: '/req/login', since: '2026-01-01' },
  { method: 'GET', path: '/req/login-shibboleth', successor: '/req/login', since: '2026-01-01' },
  { method: 'POST', path: '/req/profile/validatePasskey', successor: '/handshake', since: '2026-01-01' },
  { method: 'POST', path: '/req/login-shibboleth', successor: '/req/login', since: '2026-01-01' },
]

export interface Deprecation {
  /** Method and path, such as `GET /api/user`. */
  name: string
  headers: Record<string, string>
}

/** Builds the deprecation headers (RFC 9745, RFC 8594) by method and path. */
export function buildDeprecations(basePath: string, sunset: Date | undefined): ReadonlyMap<string, Deprecation> {
  return new Map(
    deprecatedRoutes.map(({ method, path, successor, isBelow, since }) => {
      const name = `${method} ${path}`
      const headers = {
        deprecation: `@${Date.parse(since) / 1000}`,
        ...(sunset && { sunset: sunset.toUTCString() }),
        link: `<${isBelow ? basePath : ''}${successor}>; rel="successor-version"`,
      }
      return [name, { name, headers }]
    }),
  )
}
