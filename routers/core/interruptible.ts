/** The same items until a signal aborts; then it throws the reason, even if no item ever comes again. */
export async function* interruptible<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  // Nobody may be waiting at that moment.
  aborted.catch(() => {})
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  if (signal.aborted) abort()
  const iterator = items[Symbol.asyncIterator]()
  try {
    for (;;) {
      const step = await Promise.race([iterator.next(), aborted])
      if (step.done) return
      yield step.value
    }
  } finally {
    signal.removeEventListener('abort', abort)
    // It may never settle.
    iterator.return?.().catch(() => {})
  }
}
