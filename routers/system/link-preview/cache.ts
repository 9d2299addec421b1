import { hash } from 'node:crypto'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'

/** Who asks, as far as it matters. */
export interface Asking {
  services: Services
  signal(): AbortSignal
}
type Services = Context['services']

/** What is kept of one kind of things, by the URL that was asked for. */
export interface CacheOptions {
  kind: 'page' | 'image' | 'icon'
  /** In milliseconds. */
  keep: number
  /** Bytes of everything that is kept, over all replicas. */
  budget: number
}

/** A site that did not answer is asked again after this. */
const KEEP_FAILURE_MS = 10 * 60 * 1000

/** What the store needs for an entry beside its text. */
const ENTRY_BYTES = 200

/** What was read before, or what is read now: once, however many ask; null where it cannot be read. Whoever asks, it is the same. */
export async function cached<Value>(
  ctx: Asking,
  { url, ...options }: CacheOptions & { url: string },
  read: (signal: AbortSignal) => Promise<Value>,
): Promise<Value | null> {
  const { services } = ctx
  const key = `link-preview:${options.kind}:${hash('sha256', url, 'base64url')}`
  const known =
    (await services.previews.get(key)) ??
    (await services.previewReads.do(key, ctx.signal(), async (signal) => {
      const value = await read(signal).catch((error: unknown) => {
        // Says something of us, not of the site.
        if (signal.aborted || (error instanceof Problem && error.problem === 'busy')) throw error
        return null
      })
      return store(services, key, options, value)
    }))
  return JSON.parse(known) as Value | null
}

async function store(services: Services, key: string, options: CacheOptions, value: unknown): Promise<string> {
  const text = JSON.stringify(value)
  const { keep } = options
  if (await hasRoom(services, options, Buffer.byteLength(text) + ENTRY_BYTES))
    await services.previews.set(key, text, value === null ? Math.min(keep, KEEP_FAILURE_MS) : keep)
  return text
}

/**
 * Strangers choose what is stored, so its size is counted: beyond the budget it is read anew each time. What was stored in one
 * window is there until the next ends, so each may take half.
 */
async function hasRoom(services: Services, { kind, keep, budget }: CacheOptions, size: number): Promise<boolean> {
  const { remaining } = await services.limiter.take(`link-preview-cache:${kind}`, budget / 2, keep / 1000, size)
  return remaining >= 0
}
