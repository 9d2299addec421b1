import { hash } from 'node:crypto'
import { Readable } from 'node:stream'
import { z } from 'zod'
import { FileContent } from '../../core/file-content.ts'
import { consumeRateLimit } from '../../core/load/rate-limit.ts'
import { about, router, userWith } from '../../core/trpc.ts'
import { headOf } from './page.ts'
import { iconOf, imageAt } from './picture.ts'
import type { PageHead } from './read-head.ts'
import { globe, gradient } from './stand-in.ts'

const MAX_URL = 2048
const STAND_IN = 'fallback_'

const url = z
  .string()
  .max(MAX_URL)
  .pipe(z.url({ protocol: /^https?$/, error: 'must be a URL that begins with http:// or https://' }).max(MAX_URL))

const imageUrl = z.union(
  [url, z.string().max(300).startsWith(STAND_IN)],
  `must be a URL that begins with http:// or https://, or a text that begins with ${STAND_IN}`,
)

const preview = z.object({
  url: z.string().describe('As it was asked for.'),
  domain: z.string().describe('The host.'),
  title: z.string().describe('As the page names itself, or made from the host.'),
  description: z.string().nullable().describe('What the page says of itself.'),
  image: z.string().describe('The address of its picture, to be asked for with `linkPreviews.image`.'),
  favicon: z.string().describe('The address of its site, to be asked for with `linkPreviews.favicon`.'),
  isFallback: z.boolean().describe('Whether the page could not be read.'),
})

type Preview = z.output<typeof preview>

const previewing = userWith('read').use(async ({ ctx, next }) => {
  const { linkPreviewsPerMinute } = ctx.services.settings
  await consumeRateLimit(ctx, [`link-previews:${ctx.caller.person.id}`], linkPreviewsPerMinute)
  return next()
})

export const linkPreviewsRouter = router({
  metadata: previewing
    .meta(about('Read what a page says of itself.', preview))
    .input(z.strictObject({ url }))
    .query(async ({ ctx, input }): Promise<Preview> => toPreview(input.url, await headOf(ctx, input.url))),

  image: previewing
    .meta({ ...about('Read the picture of a page, or one in its place.'), file: 'out' })
    .input(z.strictObject({ url: imageUrl }))
    .query(async ({ ctx, input }) => {
      const image = input.url.startsWith(STAND_IN) ? null : await imageAt(ctx, input.url)
      return image ? picture(image, 'webp') : picture(gradient(standInOf(input.url)), 'png')
    }),

  favicon: previewing
    .meta({ ...about('Read the icon of a site, or one in its place.'), file: 'out' })
    .input(z.strictObject({ url }))
    .query(async ({ ctx, input }) => {
      const icon = await iconOf(ctx, new URL(input.url))
      return icon ? picture(icon, 'webp') : picture(globe, 'svg')
    }),
})

function toPreview(url: string, head: PageHead | null): Preview {
  const { hostname, origin } = new URL(url)
  return {
    url,
    domain: hostname,
    title: head?.title ?? headline(hostname),
    description: head?.description ?? null,
    image: head?.images[0] ?? `${STAND_IN}${hostname}`,
    favicon: origin,
    isFallback: head === null,
  }
}

/** `www.my-library.example` becomes «My library»; an address of numbers stays. */
function headline(hostname: string): string {
  const isNumeric = hostname.includes(':') || /^[\d.]+$/.test(hostname)
  const labels = hostname.replace(/^www\./, '').split('.')
  const text = isNumeric || labels.length < 2 ? hostname : labels.slice(0, -1).join(' ').replaceAll('-', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

const standInOf = (address: string) =>
  URL.canParse(address) ? new URL(address).hostname : address.slice(STAND_IN.length)

const mimes = { webp: 'image/webp', png: 'image/png', svg: 'image/svg+xml' }

function picture(bytes: Buffer, extension: keyof typeof mimes): FileContent {
  const facts = {
    name: `preview.${extension}`,
    mime: mimes[extension],
    bytes: bytes.length,
    tag: hash('sha1', bytes, 'base64url'),
  }
  return new FileContent(facts, (range) => Readable.from([range ? bytes.subarray(range.start, range.end + 1) : bytes]))
}
