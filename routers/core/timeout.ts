/** Settles as the work does, or fails when it takes longer than `ms`. */
export async function withTimeout<T>(work: T | PromiseLike<T>, ms: number): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('no answer in time')), ms)
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}
