import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { crc32, deflateSync } from 'node:zlib'
import { z } from 'zod'
import { findAppToConnect } from '../../entities/apps/ext-app.sql.ts'
import { isLogoUrlValid } from '../apps/logo-path.ts'
import { FileContent } from '../core/file-content.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import { Problem } from '../core/problems.ts'
import { about, router, sessionUser, userWith } from '../core/trpc.ts'
import { resourceId } from '../resource/ids.ts'
import type { PageHead } from './page-head.ts'
import { fetchIcon, fetchImage, fetchPageHead } from './preview-fetcher.ts'

const MAX_URL = 2048
const FALLBACK_PREFIX = 'fallback_'

const url = z
  .string()
  .max(MAX_URL)
  .pipe(z.url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' }).max(MAX_URL))

const imageUrl = z.union(
  [url, z.string().max(300).startsWith(FALLBACK_PREFIX)],
  `must be a URL that begins with http:// or https://, or a text that begins with ${FALLBACK_PREFIX}`,
)

const preview = z.object({
  url: z.string().describe('The address as it was requested.'),
  domain: z.string().describe('The host of the address.'),
  title: z.string().describe('The title of the page. If the page has none, it is derived from the host.'),
  description: z.string().nullable().describe('The description that the page gives.'),
  image: z.string().describe("The address of the page's picture, for `linkPreviews.image`."),
  favicon: z.string().describe('The address of the site, for `linkPreviews.favicon`.'),
  isFallback: z.boolean().describe('True if the page could not be read.'),
})

type Preview = z.output<typeof preview>

const previewProcedure = userWith('read').use(async ({ ctx, next }) => {
  const { linkPreviewsPerMinute } = ctx.services.settings
  await consumeRateLimit(ctx, [`link-previews:${ctx.caller.person.id}`], linkPreviewsPerMinute)
  return next()
})

export const linkPreviewsRouter = router({
  metadata: previewProcedure
    .meta({ ...about('Read the title, description and picture of a page.', preview), waitsOutside: true })
    .input(z.strictObject({ url }))
    .query(async ({ ctx, input }): Promise<Preview> => toPreview(input.url, await fetchPageHead(ctx, input.url))),

  image: previewProcedure
    .meta({ ...about('Read the picture of a page, or one in its place.'), file: 'out' })
    .input(z.strictObject({ url: imageUrl }))
    .query(async ({ ctx, input }) => {
      const image = input.url.startsWith(FALLBACK_PREFIX) ? null : await fetchImage(ctx, input.url)
      return image ? toFileContent(image, 'webp') : toFileContent(drawGradient(choosePlaceholderText(input.url)), 'png')
    }),

  favicon: previewProcedure
    .meta({ ...about('Read the icon of a site, or one in its place.'), file: 'out' })
    .input(z.strictObject({ url }))
    .query(async ({ ctx, input }) => {
      const icon = await fetchIcon(ctx, new URL(input.url))
      return icon ? toFileContent(icon, 'webp') : toFileContent(globeSvg, 'svg')
    }),
})

function toPreview(url: string, head: PageHead | null): Preview {
  const { hostname, origin } = new URL(url)
  return {
    url,
    domain: hostname,
    title: head?.title ?? createTitle(hostname),
    description: head?.description ?? null,
    image: head?.images[0] ?? `${FALLBACK_PREFIX}${hostname}`,
    favicon: origin,
    isFallback: head === null,
  }
}

/** Creates a title from a host name: `www.my-library.example` becomes «My library»; an IP address stays. */
function createTitle(hostname: string): string {
  const isNumeric = hostname.includes(':') || /^[\d.]+$/.test(hostname)
  const labels = hostname.replace(/^www\./, '').split('.')
  const text = isNumeric || labels.length < 2 ? hostname : labels.slice(0, -1).join(' ').replaceAll('-', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const choosePlaceholderText = (address: string) =>
  URL.canParse(address) ? new URL(address).hostname : address.slice(FALLBACK_PREFIX.length)

const mimes = { webp: 'image/webp', png: 'image/png', svg: 'image/svg+xml' }

function toFileContent(bytes: Buffer, extension: keyof typeof mimes): FileContent {
  const facts = {
    name: `preview.${extension}`,
    mime: mimes[extension],
    bytes: bytes.length,
    tag: hash('sha1', bytes, 'base64url'),
  }
  return new FileContent(facts, (range) => Readable.from([range ? bytes.subarray(range.start, range.end + 1) : bytes]))
}

const WIDTH = 160
const HEIGHT = 90

type Colour = readonly [red: number, green: number, blue: number]

const palette: readonly [Colour, ...Colour[]] = [
  [30, 64, 175],
  [14, 116, 144],
  [15, 118, 110],
  [21, 128, 61],
  [77, 124, 15],
  [161, 98, 7],
  [194, 65, 12],
  [185, 28, 28],
  [157, 23, 77],
  [126, 34, 206],
  [67, 56, 202],
]

/** Draws a placeholder gradient as PNG: the same text always has the same colours. */
function drawGradient(text: string): Buffer {
  const [first = 0, second = 0] = hash('sha256', text, 'buffer')
  const colour = (byte: number) => palette[byte % palette.length] ?? palette[0]
  const [from, to] = [colour(first), colour(second)]
  const rows = Buffer.alloc(HEIGHT * (1 + 3 * WIDTH))
  for (let y = 0; y < HEIGHT; y++)
    for (let x = 0; x < WIDTH; x++)
      for (const [channel, start] of from.entries()) {
        const end = to[channel] ?? start
        const mixed = start + ((end - start) * (x + y)) / (WIDTH + HEIGHT)
        rows[y * (1 + 3 * WIDTH) + 1 + 3 * x + channel] = Math.round(mixed)
      }
  return encodePng(rows)
}

/** Encodes pixels of 8 bits per channel, without transparency. */
function encodePng(rows: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(WIDTH, 0)
  header.writeUInt32BE(HEIGHT, 4)
  header.set([8, 2, 0, 0, 0], 8)
  const signature = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
  return Buffer.concat([
    signature,
    encodeChunk('IHDR', header),
    encodeChunk('IDAT', deflateSync(rows)),
    encodeChunk('IEND'),
  ])
}

function encodeChunk(type: string, data = Buffer.alloc(0)): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const [length, check] = [Buffer.alloc(4), Buffer.alloc(4)]
  length.writeUInt32BE(data.length)
  check.writeUInt32BE(crc32(body))
  return Buffer.concat([length, body, check])
}

/** A placeholder icon of a globe, as SVG. */
const globeSvg = Buffer.from(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24" width="64" height="64" fill="none" stroke="#64748b" stroke-width="1.5">' +
    '<circle cx="12" cy="12" r="9"/><path d="M3 12h18M12 3c3 3 4 6 4 9s-1 6-4 9c-3-3-4-6-4-9s1-6 4-9z"/></svg>',
)

const signedLogo = z.strictObject({
  id: resourceId,
  expires: z.string().regex(/^\d{1,12}$/),
  signature: z.string().max(500),
})

/** Serves logos of external apps by signed addresses, so that no app learns who sees its consent page. */
export const appLogosRouter = router({
  read: sessionUser
    .meta({ ...about('Read the logo of an external app that asks the caller.'), file: 'out' })
    .input(signedLogo)
    .query(async ({ ctx, input }) => {
      const { linkPreviewsPerMinute } = ctx.services.settings
      await consumeRateLimit(ctx, [`link-previews:${ctx.caller.person.id}`], linkPreviewsPerMinute)
      const [app] = isLogoUrlValid(ctx, input) ? await ctx.services.sql(findAppToConnect, [Number(input.id)]) : []
      const image = app?.logoUrl ? await fetchImage(ctx, app.logoUrl) : null
      if (!image) throw new Problem('not_found', { detail: 'There is no such logo.' })
      const tag = hash('sha1', image, 'base64url')
      return new FileContent({ name: 'logo.webp', mime: 'image/webp', bytes: image.length, tag }, (range) =>
        Readable.from([range ? image.subarray(range.start, range.end + 1) : image]),
      )
    }),
})
