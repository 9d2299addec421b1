import type { FastifyReply } from 'fastify'
import type { ResponseHints } from '../../routers/core/hooks.ts'

/** When to try again what cannot be served now. */
const RETRY_AFTER_SECONDS = 5

/** Sets `Retry-After` where a refusal passes by itself, unless it is set. */
export function tellWhenToRetry(reply: FastifyReply, hints: ResponseHints | undefined): void {
  if (reply.hasHeader('retry-after')) return
  if (reply.statusCode === 503) reply.header('retry-after', RETRY_AFTER_SECONDS)
  if (reply.statusCode !== 429 || hints?.retryAfterSeconds === null) return
  reply.header('retry-after', hints?.retryAfterSeconds ?? hints?.rateLimit?.resetSeconds ?? 60)
}
