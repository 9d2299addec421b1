import type { FastifyReply } from 'fastify'
import type { RateLimitStatus } from '../../routers/ports/rate-limiter.ts'

/** What is left of a rate limit, and when to come again where nothing is. */
export function setRateLimitHeaders(reply: FastifyReply, allowance: RateLimitStatus | undefined): void {
  if (!allowance) return
  const { limit, remaining, resetSeconds } = allowance
  reply.headers({
    'ratelimit-limit': limit,
    'ratelimit-remaining': Math.max(0, remaining),
    'ratelimit-reset': resetSeconds,
    ...(remaining < 0 && { 'retry-after': resetSeconds }),
  })
}
