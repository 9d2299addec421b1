/** What is left of a limit in the current window. */
export interface RateLimitStatus {
  limit: number
  remaining: number
  /** Seconds until the full limit is there again. */
  resetSeconds: number
}

/** Counts atomically, over all replicas where Redis is configured. */
export interface RateLimiter {
  /** Takes one or several of `limit` a minute, or in another window; remaining is negative when there were not enough left. */
  consume(key: string, limit: number, windowSeconds?: number, points?: number): Promise<RateLimitStatus>
  /** Gives back one that was taken. Limit and window are those it was taken with. */
  refund(key: string, limit: number, windowSeconds?: number): Promise<void>
  /** Starts the key's count anew. Limit and window are those it was taken with. */
  clear(key: string, limit: number, windowSeconds?: number): Promise<void>
}
