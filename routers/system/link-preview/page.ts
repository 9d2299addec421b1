import { createBulkhead } from '../../core/load/bulkhead.ts'
import { type Asking, type CacheOptions, cached } from './cache.ts'
import type { PageHead } from './read-head.ts'

const TIMEOUT_MS = 5000

const pages: CacheOptions = { kind: 'page', keep: 24 * 60 * 60 * 1000, budget: 64 * 1024 * 1024 }

/** A slow site must not hold up others, and costs little more than a connection. */
const reading = createBulkhead(64, 200)

const accept = 'text/html,application/xhtml+xml;q=0.9'
const kinds = ['text/html', 'application/xhtml+xml']

/** What a page says of itself; null where it cannot be read, or must not be. */
export const readHead = (ctx: Asking, url: string): Promise<PageHead | null> =>
  cached(ctx, { ...pages, url }, (signal) =>
    reading(async () => {
      const { readHead } = await import('./read-head.ts')
      return readHead(await ctx.services.webReader.open(url, { accept, kinds, timeout: TIMEOUT_MS, signal }))
    }),
  )
