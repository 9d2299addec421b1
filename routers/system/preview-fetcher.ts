import { hash } from 'node:crypto'
import type { Context } from '../core/context.ts'
import { createBulkhead } from '../core/load/concurrency.ts'
import { Problem } from '../core/problems.ts'
import { type PictureShape, reencode } from '../identity/pictures/reencode.ts'
import type { PageHead } from './page-head.ts'

const PAGE_TIMEOUT_MS = 5000

const pageCache: CacheOptions = { kind: 'page', maxAge: 24 * 60 * 60 * 1000, budget: 64 * 1024 * 1024 }

/** Bounds concurrent page reads: a slow site must not block others. */
const pageBulkhead = createBulkhead(64, 200)

const accept = 'text/html,application/xhtml+xml;q=0.9'
const kinds = ['text/html', 'application/xhtml+xml']

/** Fetches the metadata of a page; returns null if it cannot or must not be read. */
export const fetchPageHead = (ctx: PreviewContext, url: string): Promise<PageHead | null> =>
  fetchOnce(ctx, { ...pageCache, url }, (signal) =>
    pageBulkhead(async () => {
      const { readHead } = await import('./page-head.ts')
      return readHead(
        await ctx.services.process.webReader.open(url, { accept, kinds, timeout: PAGE_TIMEOUT_MS, signal }),
      )
    }),
  )

const IMAGE_TIMEOUT_MS = 4000
const MAX_BYTES = 4 * 1024 * 1024
/** Icons of a page that are tried. */
const MAX_ICONS = 2

const HOUR_MS = 60 * 60 * 1000
const imageCache: CacheOptions = { kind: 'image', maxAge: 24 * HOUR_MS, budget: 128 * 1024 * 1024 }
const iconCache: CacheOptions = { kind: 'icon', maxAge: 7 * 24 * HOUR_MS, budget: 32 * 1024 * 1024 }

const imageShape: PictureShape = { width: 640, height: 360, fit: 'inside' }
const iconShape: PictureShape = { width: 64, height: 64, fit: 'inside' }

/** Bounds concurrent image reads, each of which may hold the largest image. */
const imageBulkhead = createBulkhead(16, 100)
/** Reencodes one image at a time, so that profile pictures find room in the shared queue. */
const reencodeBulkhead = createBulkhead(1, 100)

/** Fetches an image as a small WebP; returns null if there is none. */
export const fetchImage = (ctx: PreviewContext, url: string): Promise<Buffer | null> =>
  decodeImage(
    fetchOnce(ctx, { ...imageCache, url }, (signal) =>
      readPicture({ services: ctx.services, signal: () => signal }, url, imageShape),
    ),
  )

/** Fetches the icon of a site, as its start page declares it or at the default address; asks no other site. */
export const fetchIcon = (ctx: PreviewContext, { origin }: URL): Promise<Buffer | null> =>
  decodeImage(
    fetchOnce(ctx, { ...iconCache, url: origin }, (signal) =>
      readIcon({ services: ctx.services, signal: () => signal }, origin),
    ),
  )

async function readIcon(ctx: PreviewContext, origin: string): Promise<string> {
  const head = await fetchPageHead(ctx, `${origin}/`)
  const candidates = new Set([...(head?.icons.slice(0, MAX_ICONS) ?? []), `${origin}/favicon.ico`])
  for (const url of candidates) {
    const icon = await readPicture(ctx, url, iconShape).catch(rethrowIfBusy)
    if (icon) return icon
  }
  throw new Problem('not_found')
}

/** Ignores an error, so that the next candidate is tried, unless this service is overloaded. */
function rethrowIfBusy(error: unknown): undefined {
  if (error instanceof Problem && error.problem === 'busy') throw error
}

/** Returns the image as base64. Reencoding drops everything but the pixels: scripts, locations, hidden files. */
async function readPicture(ctx: PreviewContext, url: string, shape: PictureShape): Promise<string> {
  const image = await imageBulkhead(() => readImage(ctx, url))
  return Buffer.from(await reencodeBulkhead(() => reencode(image, shape))).toString('base64')
}

async function readImage({ services, signal }: PreviewContext, url: string): Promise<Uint8Array> {
  const request = { accept: 'image/*', kinds: ['image/'], timeout: IMAGE_TIMEOUT_MS, signal: signal() }
  const { body } = await services.process.webReader.open(url, request)
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.length
    if (bytes > MAX_BYTES) throw new Problem('too_large')
    parts.push(part)
  }
  return Buffer.concat(parts)
}

async function decodeImage(picture: Promise<string | null>): Promise<Buffer | null> {
  const base64 = await picture
  return base64 === null ? null : Buffer.from(base64, 'base64')
}

/** The part of the context that previews need. */
interface PreviewContext {
  services: Services
  signal(): AbortSignal
}
type Services = Context['services']

/** Cache settings of one kind of preview, by URL. */
interface CacheOptions {
  kind: 'page' | 'image' | 'icon'
  /** In milliseconds. */
  maxAge: number
  /** Bytes of all entries, over all replicas. */
  budget: number
}

/** Milliseconds until a failed site is tried again. */
const KEEP_FAILURE_MS = 10 * 60 * 1000

/** Overhead of the store for an entry, in bytes. */
const ENTRY_BYTES = 200

/**
 * Returns the cached value, or reads it once for all concurrent callers; null if it cannot be read. The result does not
 * depend on the caller.
 */
async function fetchOnce<Value>(
  ctx: PreviewContext,
  { url, ...options }: CacheOptions & { url: string },
  read: (signal: AbortSignal) => Promise<Value>,
): Promise<Value | null> {
  const { services } = ctx
  const key = `link-preview:${options.kind}:${hash('sha256', url, 'base64url')}`
  const text =
    (await services.stores.previews.get(key)) ??
    (await services.stores.previewReads.run(key, ctx.signal(), async (signal) => {
      const value = await read(signal).catch((error: unknown) => {
        // This failure is caused by this service, not by the site.
        if (signal.aborted || (error instanceof Problem && error.problem === 'busy')) throw error
        return null
      })
      return store(services, key, options, value)
    }))
  return JSON.parse(text) as Value | null
}

async function store(services: Services, key: string, options: CacheOptions, value: unknown): Promise<string> {
  const text = JSON.stringify(value)
  const { maxAge } = options
  if (await reserveSpace(services, options, Buffer.byteLength(text) + ENTRY_BYTES))
    await services.stores.previews.set(key, text, value === null ? Math.min(maxAge, KEEP_FAILURE_MS) : maxAge)
  return text
}

/**
 * Reserves cache space by a rate limit, because strangers choose what is stored: beyond the budget nothing is cached.
 * Entries of one window last until the next one ends, so each window gets half.
 */
async function reserveSpace(
  services: Services,
  { kind, maxAge, budget }: CacheOptions,
  size: number,
): Promise<boolean> {
  const { remaining } = await services.limits.limiter.consume(
    `link-preview-cache:${kind}`,
    budget / 2,
    maxAge / 1000,
    size,
  )
  return remaining >= 0
}
