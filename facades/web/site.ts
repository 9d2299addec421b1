import { hash } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { Asset } from '../http/asset.ts'

export interface Logo {
  type: 'image/png' | 'image/svg+xml'
  body: Buffer
}

interface Shades {
  accent: string
  /** Colour of hovered elements. */
  strong: string
  /** Colour of text on the accent colour. */
  ink: string
}

export type AccentColors = Record<'light' | 'dark', Shades>

/** Name and look of this installation. */
export interface Site {
  name: string
  logo: Logo | undefined
  accent: AccentColors | undefined
  /** True if models name chats. */
  hasTitles: boolean
  /** External links by topic. */
  links: Record<'imprint' | 'privacy' | 'help', string | undefined>
  /** The contact for vulnerability reports, and its expiry. */
  security: { contact: string; expires: Date; baseUrl: string | undefined } | undefined
}

/** The site for pages, with file addresses that change with the content. */
export interface SiteView extends Pick<Site, 'name' | 'links' | 'hasTitles'> {
  logo: string | undefined
  style: string | undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    site: SiteView
  }
}

const FOREVER = 'public, max-age=31536000, immutable'

/** Serves logo and colours, and makes them available to all pages. */
export function serveSite(app: FastifyInstance, { name, links, logo, accent, hasTitles, security }: Site): void {
  const style = accent && writeStyle(accent)
  const view = {
    name,
    links,
    hasTitles,
    logo: logo && toLogoAddress(logo),
    style: style && `/assets/site-${hashBody(style)}.css`,
  }
  app.decorate('site', view)
  if (security) serveSecurityText(app, security)
  if (view.style && style) {
    const asset = new Asset('text/css; charset=utf-8', style, FOREVER)
    app.get(view.style, (request, reply) => asset.send(request, reply))
  }
  if (view.logo && logo)
    app.get(view.logo, (_, reply) =>
      reply
        // An SVG that is opened directly runs no script.
        .headers({
          'cache-control': FOREVER,
          'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; sandbox",
        })
        .type(logo.type)
        .send(logo.body),
    )
}

const SECURITY_TEXT = '/.well-known/security.txt'

/** Serves `security.txt` (RFC 9116) until it expires. */
function serveSecurityText(app: FastifyInstance, { contact, expires, baseUrl }: NonNullable<Site['security']>): void {
  const lines = [`Contact: ${contact}`, `Expires: ${expires.toISOString()}`, 'Preferred-Languages: de, en']
  if (baseUrl !== undefined) lines.push(`Canonical: ${baseUrl}${SECURITY_TEXT}`)
  const text = `${lines.join('\n')}\n`
  app.get(SECURITY_TEXT, (_, reply) => {
    if (Date.now() > expires.getTime()) return reply.callNotFound()
    return reply.header('cache-control', 'public, max-age=3600').type('text/plain; charset=utf-8').send(text)
  })
}

const hashBody = (body: string | Buffer) => hash('sha1', body, 'hex').slice(0, 12)

const toLogoAddress = ({ type, body }: Logo) => `/assets/site-${hashBody(body)}.${type === 'image/png' ? 'png' : 'svg'}`

const writeStyle = ({ light, dark }: AccentColors) => `:root {
  --accent: light-dark(${light.accent}, ${dark.accent});
  --accent-strong: light-dark(${light.strong}, ${dark.strong});
  --on-accent: light-dark(${light.ink}, ${dark.ink});
}
`
