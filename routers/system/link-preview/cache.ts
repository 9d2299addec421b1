import { hash } from 'node:crypto'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'

/** What is kept of one kind of things, by the URL that was asked for. */
export interface CacheOptions {
  kind: 'page' | 'image' | 'icon'
  /** In milliseconds. */
  keep: number
  /** Characters of everything that is stored in the time that it is kept, over all replicas. */
  budget: number
}

/** A site that did not answer is asked again after this. */
const KEEP_FAILURE_MS = 10 * 60 * 1000

/** What was read before, or what is read now; null where it cannot be read. Whoever asks, it is the same. */
export async function cached<Value>(
  ctx: Context,
  { kind, url, keep, budget }: CacheOptions & { url: string },
  read: () => Promise<Value>,
): Promise<Value | null> {
  const { previews } = ctx.services
  const key = `link-preview:${kind}:${hash('sha256', url, 'base64url')}`
  const known = await previews.get(key)
  if (known !== undefined) return JSON.parse(known) as Value | null
  const value = await read().catch((error: unknown) => {
    // Says something of us, not of the site.
    if (ctx.signal.aborted || (error instanceof Problem && error.problem === 'busy')) throw error
    return null
  })
  const text = JSON.stringify(value)
  if (await hasRoom(ctx, { kind, keep, budget }, text.length))
    await previews.set(key, text, value === null ? Math.min(keep, KEEP_FAILURE_MS) : keep)
  return value
}

/** Strangers choose what is stored, so its size is counted: beyond the budget it is read anew each time. */
async function hasRoom(ctx: Context, { kind, keep, budget }: CacheOptions, size: number): Promise<boolean> {
  const { remaining } = await ctx.services.limiter.take(`link-preview-cache:${kind}`, budget, keep / 1000, size)
  return remaining >= 0
}
