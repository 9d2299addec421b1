import type { ChangeBus } from '../../routers/ports/change-bus.ts'
import type { Notifier } from '../../routers/ports/notifier.ts'

const TOPIC = 'notice'

/** Creates the notifier. Notices reach the other replicas over the change bus; after an interruption of the bus every waiter looks again. */
export function createNotifier(bus: ChangeBus): Notifier {
  const waiting = new Map<string, Set<() => void>>()
  const wake = (key: string) => {
    for (const look of waiting.get(key) ?? []) look()
  }
  bus.subscribe({
    onChanges() {},
    onInterruption: () => [...waiting.keys()].forEach(wake),
    onMessage: (topic, key) => {
      if (topic === TOPIC) wake(String(key))
    },
  })

  function listen(keys: readonly string[], look: () => void): Disposable {
    for (const key of keys) waiting.set(key, (waiting.get(key) ?? new Set()).add(look))
    return {
      [Symbol.dispose]() {
        for (const key of keys) {
          waiting.get(key)?.delete(look)
          if (waiting.get(key)?.size === 0) waiting.delete(key)
        }
      },
    }
  }

  return {
    notify(key) {
      wake(key)
      void bus.broadcast(TOPIC, key)
    },
    async waitFor(keys, look, signal) {
      let next = Promise.withResolvers<void>()
      const wakeUp = () => next.resolve()
      using _listening = listen(keys, wakeUp)
      signal.addEventListener('abort', wakeUp)
      try {
        for (;;) {
          // The promise is created before the look, so that a notice that arrives meanwhile is not missed.
          next = Promise.withResolvers()
          const found = await look()
          if (found !== undefined || signal.aborted) return found
          await next.promise
        }
      } finally {
        signal.removeEventListener('abort', wakeUp)
      }
    },
  }
}
