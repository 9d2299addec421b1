/** State of a rate limit in the current window. */
export interface RateLimitStatus {
  limit: number
  remaining: number
  /** Seconds until the limit is fully available again. */
  resetSeconds: number
}

/** Counts atomically, across replicas if Redis is configured. */
export interface RateLimiter {
  /** Consumes one or more points of `limit` per minute or window; `remaining` is negative if there were too few. */
  consume(key: string, limit: number, windowSeconds?: number, points?: number): Promise<RateLimitStatus>
  /** Refunds a point. Limit and window must equal those of `consume`. */
  refund(key: string, limit: number, windowSeconds?: number): Promise<void>
  /** Resets the count of a key. Limit and window must equal those of `consume`. */
  clear(key: string, limit: number, windowSeconds?: number): Promise<void>
}
