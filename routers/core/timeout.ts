/** Settles like the work, or fails after `ms`. */
export async function withTimeout<T>(work: T | PromiseLike<T>, ms: number): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('no answer in time')), ms)
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** Settles like the work, or rejects when the signal aborts, even if the work ignores it. */
export async function runUntilAborted<T>(work: () => Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const end = () => reject(signal.reason)
  signal.addEventListener('abort', end, { once: true })
  try {
    return await Promise.race([work(), aborted])
  } finally {
    signal.removeEventListener('abort', end)
  }
}

/** Combines the caller's signal with a time limit; disposing clears the timer. */
export function createTimeLimit(ms: number, gone: AbortSignal): Disposable & { signal: AbortSignal } {
  const limit = new AbortController()
  const timer = setTimeout(() => limit.abort(new DOMException('The time is up.', 'TimeoutError')), ms)
  const end = () => limit.abort(gone.reason)
  gone.addEventListener('abort', end, { once: true })
  if (gone.aborted) end()
  const release = () => {
    clearTimeout(timer)
    gone.removeEventListener('abort', end)
  }
  return { signal: limit.signal, [Symbol.dispose]: release }
}
