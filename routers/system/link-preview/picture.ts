import { createBulkhead } from '../../core/load/bulkhead.ts'
import { Problem } from '../../core/problems.ts'
import { type PictureShape, reencode } from '../../identity/pictures/reencode.ts'
import { type Asking, type CacheOptions, cached } from './cache.ts'
import { readHead } from './page.ts'

const TIMEOUT_MS = 4000
const MAX_BYTES = 4 * 1024 * 1024
/** How many icons of a page are tried. */
const MAX_ICONS = 2

const HOUR_MS = 60 * 60 * 1000
const images: CacheOptions = { kind: 'image', keep: 24 * HOUR_MS, budget: 128 * 1024 * 1024 }
const icons: CacheOptions = { kind: 'icon', keep: 7 * 24 * HOUR_MS, budget: 32 * 1024 * 1024 }

const imageShape: PictureShape = { width: 640, height: 360, fit: 'inside' }
const iconShape: PictureShape = { width: 64, height: 64, fit: 'inside' }

/** Each may hold an image as large as it may be. */
const reading = createBulkhead(16, 100)
/** One at a time, so that the pictures of people find room in the queue that all share. */
const drawing = createBulkhead(1, 100)

/** The image at an address as a small WebP; null where there is none. */
export const imageAt = (ctx: Asking, url: string): Promise<Buffer | null> =>
  asBytes(
    cached(ctx, { ...images, url }, (signal) =>
      readPicture({ services: ctx.services, signal: () => signal }, url, imageShape),
    ),
  )

/** The icon of a site, as its start page names it, or where browsers look for it; asks nobody but the site. */
export const fetchIcon = (ctx: Asking, { origin }: URL): Promise<Buffer | null> =>
  asBytes(
    cached(ctx, { ...icons, url: origin }, (signal) =>
      readIcon({ services: ctx.services, signal: () => signal }, origin),
    ),
  )

async function readIcon(ctx: Asking, origin: string): Promise<string> {
  const head = await readHead(ctx, `${origin}/`)
  const candidates = new Set([...(head?.icons.slice(0, MAX_ICONS) ?? []), `${origin}/favicon.ico`])
  for (const url of candidates) {
    const icon = await readPicture(ctx, url, iconShape).catch(unlessBusy)
    if (icon) return icon
  }
  throw new Problem('not_found')
}

/** The next candidate may do, unless it is us who have no time. */
function unlessBusy(error: unknown): undefined {
  if (error instanceof Problem && error.problem === 'busy') throw error
}

/** As base64, as it is kept. Whatever the site sends, only its pixels go on: no script, no place, no hidden file. */
async function readPicture(ctx: Asking, url: string, shape: PictureShape): Promise<string> {
  const image = await reading(() => readImage(ctx, url))
  return Buffer.from(await drawing(() => reencode(image, shape))).toString('base64')
}

async function readImage({ services, signal }: Asking, url: string): Promise<Uint8Array> {
  const request = { accept: 'image/*', kinds: ['image/'], timeout: TIMEOUT_MS, signal: signal() }
  const { body } = await services.webReader.open(url, request)
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.length
    if (bytes > MAX_BYTES) throw new Problem('too_large')
    parts.push(part)
  }
  return Buffer.concat(parts)
}

async function asBytes(picture: Promise<string | null>): Promise<Buffer | null> {
  const base64 = await picture
  return base64 === null ? null : Buffer.from(base64, 'base64')
}
