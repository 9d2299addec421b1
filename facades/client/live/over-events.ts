import type { Service } from './service.ts'
import { toldBy } from './told.ts'
import { type Listener, type RetryDelay, StreamEnded, type Transport } from './transport.ts'

interface OverEventsOptions {
  input?: object
  retryDelay?: RetryDelay
}

/** Listens by server-sent events, to `rooms.changes` or `users.changes`. */
export function overEvents(service: Service, path: string, { input = {}, ...rest }: OverEventsOptions = {}): Transport {
  return {
    listen(listener) {
      const stopped = new AbortController()
      void tell(listener, toldBy(service, path, { input, ...rest, signal: stopped.signal }))
      return () => stopped.abort()
    },
  }
}

async function tell(listener: Listener, parts: ReturnType<typeof toldBy>): Promise<void> {
  try {
    for await (const { id, data } of parts) {
      if (data.type === 'position') listener.subscribed(id)
      else listener.changed(id, data)
    }
  } catch (error) {
    listener.ended(error instanceof StreamEnded ? error : new StreamEnded('internal'))
  }
}
