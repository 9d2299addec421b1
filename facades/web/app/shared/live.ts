import {
  type Change,
  type FollowOptions,
  follow,
  overEvents,
  ownStream,
  pause,
  readChanges,
  retryDelay,
} from '../../../client/live/index.ts'
import { setSessionEnded } from './api/session-end.ts'
import { confirmPerson } from './session.tsx'

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
    .request(lock, { signal: controller.signal }, () =>
      followAgain({
        ...sources[source](),
        read: () => publish(undefined),
        apply: ({ kind, subject }) => publish({ kind, subject }),
        passed: ({ kind, subject }) => publish({ kind, subject }),
        signal: controller.signal,
      }),
    )
    .catch(ignoreAbort)
  return () => {
    controller.abort()
    channel.close()
  }
}

interface RepeatedFollowOptions extends Omit<FollowOptions, 'ended'> {
  /** Is called when the stream has ended for good; without it every end is repaired. */
  ended?: () => void
  signal: AbortSignal
}

/** The codes of a stream that has ended with its session, which may only have got another id. */
const sessionEndCodes: ReadonlySet<string> = new Set(['signed_out', 'invalid_token'])

/** Follows a stream until the signal is aborted, and again after a pause when it ends with the session. */
export async function followAgain({ ended, signal, read, ...options }: RepeatedFollowOptions): Promise<void> {
  let attempt = 0
  const readAnew = async (stopped: AbortSignal) => {
    await read(stopped)
    attempt = 0
  }
  while (!signal.aborted) {
    const code = await followUntilEnd({ ...options, read: readAnew }, signal)
    if (signal.aborted) return
    const isSessionEnd = sessionEndCodes.has(code)
    if (!isSessionEnd && ended) return ended()
    attempt += 1
    // A session that has only got another id has its new cookie after the pause.
    await pause(retryDelay(attempt), signal)
    if (isSessionEnd && !signal.aborted && !(await confirmPerson().catch(() => true))) setSessionEnded(true)
  }
}

/** Returns the code with which the stream has ended. */
const followUntilEnd = (options: FollowOptions, signal: AbortSignal): Promise<string> =>
  new Promise((resolve) => {
    const live = follow({ ...options, ended: ({ code }) => resolve(code) })
    signal.addEventListener('abort', () => {
      live.stop()
      resolve('')
    })
  })

function ignoreAbort(error: unknown): void {
  if (!(error instanceof DOMException) || error.name !== 'AbortError') throw error
}
