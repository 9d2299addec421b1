/** The same items until a signal aborts; then it throws the reason, even if no item ever comes again. */
export async function* interruptible<T>(items: AsyncIterable<T>, signal: AbortSignal): AsyncGenerator<T, void> {
  const iterator = items[Symbol.asyncIterator]()
  let fail: (reason: unknown) => void = () => {}
  const abort = () => fail(signal.reason)
  // `Promise.race` with one promise for all items would keep every item until that promise settles.
  const next = () =>
    new Promise<IteratorResult<T>>((resolve, reject) => {
      fail = reject
      if (signal.aborted) abort()
      iterator.next().then(resolve, reject)
    })
  signal.addEventListener('abort', abort, { once: true })
  try {
    for (let step = await next(); !step.done; step = await next()) yield step.value
  } finally {
    signal.removeEventListener('abort', abort)
    // It may never settle.
    iterator.return?.().catch(() => {})
  }
}
