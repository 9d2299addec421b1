import { type Change, follow, overEvents, ownStream, readChanges } from '../../../client/live/index.ts'

const service = { url: location.origin }

/** The streams of changes: those of the person, and those that only administrators may read. */
const sources = {
  own: () => ownStream(service),
  admin: () => ({
    transport: overEvents(service, 'overview.changes'),
    changesSince: readChanges(service, 'overview.changesSince'),
  }),
}
type SourceName = keyof typeof sources

/** A change, or undefined after a gap, when anything may have changed. */
export type ChangeEvent = Pick<Change, 'kind' | 'subject'> | undefined

/**
 * Subscribes to the person's changes in other tabs and programs, or to another source. Returns a function that
 * unsubscribes.
 */
export function followChanges(apply: (change: ChangeEvent) => void, source: SourceName = 'own'): () => void {
  const controller = new AbortController()
  // The tab that holds the lock subscribes for all tabs, as a browser opens few connections to one origin.
  const lock = `svc:live:${source}`
  const channel = new BroadcastChannel(lock)
  channel.onmessage = ({ data }: MessageEvent<ChangeEvent>) => apply(data)
  const publish = (change: ChangeEvent) => {
    apply(change)
    channel.postMessage(change)
  }
  navigator.locks
    .request(lock, { signal: controller.signal }, () => followAsLeader(source, publish, controller.signal))
    .catch(ignoreAbort)
  return () => {
    controller.abort()
    channel.close()
  }
}

const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [1000, 120_000]

/** Subscribes again after a pause when the stream ends, as it does when the session gets another id. */
async function followAsLeader(
  source: SourceName,
  publish: (change: ChangeEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  let pause = FIRST_PAUSE_MS
  while (!signal.aborted) {
    const beganAt = Date.now()
    await followUntilEnd(source, publish, signal)
    pause = Date.now() - beganAt > LONGEST_PAUSE_MS ? FIRST_PAUSE_MS : Math.min(2 * pause, LONGEST_PAUSE_MS)
    await sleep(pause, signal)
  }
}

const sleep = (milliseconds: number, signal: AbortSignal) =>
  new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, milliseconds)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })

function followUntilEnd(
  source: SourceName,
  publish: (change: ChangeEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  return new Promise((resolve) => {
    const live = follow({
      ...sources[source](),
      read: () => publish(undefined),
      apply: ({ kind, subject }) => publish({ kind, subject }),
      ended: () => resolve(),
    })
    signal.addEventListener('abort', () => {
      live.stop()
      resolve()
    })
  })
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof DOMException) || error.name !== 'AbortError') throw error
}
