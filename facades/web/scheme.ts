import type { FastifyRequest } from 'fastify'

/** The cookie with the scheme of colours that was chosen in a browser. */
export const SCHEME_COOKIE = 'scheme'

/** What a page says of its colours; both where nobody chose. */
export interface ColorScheme {
  chosen: 'light' | 'dark' | undefined
  supported: string
}

export function colorSchemeOf({ cookies }: FastifyRequest): ColorScheme {
  const wish = cookies?.[SCHEME_COOKIE]
  const chosen = wish === 'light' || wish === 'dark' ? wish : undefined
  return { chosen, supported: chosen ?? 'light dark' }
}
