import type { FastifyInstance } from 'fastify'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { Asset } from '../http/asset.ts'
import type { Site } from './site.ts'

export const MANIFEST_PATH = '/manifest.webmanifest'

/** The background of the pages around what is read, as `--ground` in `tokens.css`. */
export const themeColors = { light: '#f5f6f8', dark: '#111418' } as const

/** The accent colours of pages of an installation that names none. */
const defaultAccent = { accent: '#0b5cad', ink: '#ffffff' }

/** The edge of the largest icon, and of the part of it that no system cuts off. */
const [ICON_SIZE, SAFE_SIZE] = [512, 358]

/** The icons by name; systems cut a maskable one to their own shape. */
const icons = {
  'icon-192': { size: 192, purpose: 'any' },
  'icon-512': { size: ICON_SIZE, purpose: 'any' },
  'icon-maskable': { size: ICON_SIZE, purpose: 'maskable' },
} as const

type Icon = (typeof icons)[keyof typeof icons]

/** Serves what browsers need to install the service as an app: a manifest, and icons made of the logo. */
export function serveManifest(app: FastifyInstance, site: Site): void {
  const manifest = new Asset('application/manifest+json; charset=utf-8', JSON.stringify(buildManifest(site)))
  app.get(MANIFEST_PATH, (request, reply) => manifest.send(request, reply))
  for (const [name, icon] of Object.entries(icons)) {
    const read = lazyPromise(() => drawIcon(site, icon))
    app.get(toIconPath(name), async (_, reply) =>
      reply
        .header('cache-control', 'public, max-age=86400')
        .type('image/png')
        .send(await read()),
    )
  }
}

const toIconPath = (name: string) => `/assets/${name}.png`

const buildManifest = ({ name }: Site) => ({
  id: '/',
  name,
  short_name: name,
  start_url: '/chat',
  scope: '/',
  display: 'standalone',
  theme_color: themeColors.light,
  background_color: themeColors.light,
  icons: Object.entries(icons).map(([icon, { size, purpose }]) => ({
    src: toIconPath(icon),
    sizes: `${size}x${size}`,
    type: 'image/png',
    purpose,
  })),
})

/** Draws an icon on demand, as the library for pictures loads slowly. */
async function drawIcon(site: Site, { size, purpose }: Icon): Promise<Buffer> {
  const { default: sharp } = await import('sharp')
  const isMaskable = purpose === 'maskable'
  if (!site.logo)
    return sharp(Buffer.from(writeIcon(site, isMaskable)))
      .resize(size)
      .png()
      .toBuffer()
  const edge = isMaskable ? SAFE_SIZE : size
  const background = isMaskable ? themeColors.light : { r: 0, g: 0, b: 0, alpha: 0 }
  const margin = (size - edge) / 2
  return sharp(site.logo.body, { density: 300 })
    .resize(edge, edge, { fit: 'contain', background })
    .extend({ top: margin, bottom: margin, left: margin, right: margin, background })
    .flatten(isMaskable ? { background } : false)
    .png()
    .toBuffer()
}

/** Writes the icon of an installation without a logo: a speech bubble in its accent colour. */
function writeIcon({ accent }: Site, isMaskable: boolean): string {
  const { accent: fill, ink } = accent?.light ?? defaultAccent
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${ICON_SIZE}" height="${ICON_SIZE}" viewBox="0 0 512 512">
<rect width="512" height="512" rx="${isMaskable ? 0 : 112}" fill="${fill}"/>
<path d="M168 144h176a40 40 0 0 1 40 40v112a40 40 0 0 1-40 40h-88l-72 56v-56h-16a40 40 0 0 1-40-40V184a40 40 0 0 1 40-40z" fill="${ink}"/>
<path d="M184 212h144M184 268h96" stroke="${fill}" stroke-width="24" stroke-linecap="round"/>
</svg>`
}
