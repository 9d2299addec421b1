import { type TrackedEnvelope, tracked } from '@trpc/server'
import { z } from 'zod'
import { findChanges, findPosition, type LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { Caller } from '../core/caller.ts'
import type { Stream } from '../core/change-recorder.ts'
import { type Context, requireCredential } from '../core/context.ts'
import { translateDatabaseError } from '../core/database-errors.ts'
import { Problem } from '../core/problems.ts'
import type { EphemeralEvent, Position, StreamFollower } from '../ports/change-streams.ts'

/** Changes per response. */
const MAX_CHANGES = 500

const position = z
  .string()
  .regex(/^[0-9a-f]{12}:\d{1,15}$/, { error: 'is no position: {epoch}:{seq}' })
  .describe(
    'The position, `{epoch}:{seq}`, to continue after. If absent, the response is the current position alone: request it first, then read the data.',
  )

export const changesInput = z.strictObject({ page: z.strictObject({ after: position.optional() }).optional() })

interface Changes {
  meta: {
    /** Empty where nothing has changed. */
    changes: Pick<LoggedChange, 'seq' | 'kind' | 'subject' | 'at'>[]
    /** The position after which to continue. */
    position: string
    /** True if further changes exist already. */
    hasMore: boolean
  }
}

/** Returns the changes of a stream after a position, in order; throws if some may already be deleted. */
export async function readChangesSince(ctx: Context, stream: Stream, after: string | undefined): Promise<Changes> {
  if (after === undefined) return { meta: { changes: [], position: await readPosition(ctx, stream), hasMore: false } }
  const [epoch = '', seq = ''] = after.split(':')
  const [found] = await ctx.services.sql(findChanges, [stream, seq, MAX_CHANGES + 1])
  if (!found) throw new Problem('not_found')
  const changes = found.changes.slice(0, MAX_CHANGES)
  const next = Number(seq) + 1
  const isKnown = epoch === found.epoch && (changes[0] ? changes[0].seq === next : found.seq + 1 === next)
  if (!isKnown) {
    const position = `${found.epoch}:${found.seq}`
    throw new Problem('position_too_old', {
      detail: 'Read the data again, then continue from meta.position.',
      meta: { position },
    })
  }
  const last = changes.at(-1)?.seq ?? found.seq
  return { meta: { changes, position: `${epoch}:${last}`, hasMore: found.changes.length > MAX_CHANGES } }
}

async function readPosition({ services }: Context, stream: Stream): Promise<string> {
  const [found] = await services.sql(findPosition, [stream])
  if (!found) throw new Problem('not_found')
  return `${found.epoch}:${found.seq}`
}

export const followInput = z.strictObject({
  lastEventId: position
    .optional()
    .describe('The position, `{epoch}:{seq}`, to continue after. If absent, the stream begins now.'),
})

/** A change that has just happened may carry the changed row; one that is read from the log does not. */
type Change = Pick<LoggedChange, 'seq' | 'kind' | 'subject' | 'at' | 'record'>

/**
 * A part of the feed: first the start position, then changes and ephemeral events. Its id is the position to resume
 * from.
 */
type FeedEvent = TrackedEnvelope<
  { type: 'position'; position: string } | ({ type: 'change' } & Change) | ({ type: 'passing' } & EphemeralEvent)
>

interface FollowOptions {
  stream: Stream
  after: string | undefined
  /**
   * Throws if the caller may not follow; resolves with a function that tells from which change on they no longer may.
   */
  admit: () => Promise<(change: LoggedChange) => boolean>
  /** Reports events that the stream doesn't have; resolves with a function that ends this. */
  followBeside?: (report: (event: EphemeralEvent) => void) => Promise<() => void>
}

type SubscriberContext = Context & { caller: Extract<Caller, { type: 'user' }> }

/** Yields the changes of a stream as they happen, each once and in order. */
export async function* followChanges(ctx: SubscriberContext, options: FollowOptions): AsyncGenerator<FeedEvent, void> {
  const { services } = ctx
  const signal = ctx.signal()
  const queue = new ChangeQueue(() => ctx.hangUp())
  const comeBack = () => queue.comeBack()
  const subscriber = {
    person: ctx.caller.person.id,
    credential: requireCredential(ctx),
    onSignedOut: () => queue.fail(new Problem('signed_out')),
    onDrain: comeBack,
  }
  const cleanUp: (() => void)[] = [() => signal.removeEventListener('abort', comeBack)]
  try {
    signal.addEventListener('abort', comeBack, { once: true })
    // An earlier abort notifies no listener.
    if (signal.aborted) comeBack()
    cleanUp.push(await services.changes.subscriptions.open(subscriber))
    const { position, stop } = await services.changes.streams.follow(options.stream, queue)
    cleanUp.push(stop)
    if (options.followBeside) cleanUp.push(await options.followBeside((event) => queue.onEphemeral(event)))
    yield* replayThenFollow(ctx, options, `${position.epoch}:${position.seq}`, queue)
  } catch (error) {
    // After the abort nothing awaits an error, and an unhandled rejection would end the process.
    if (signal.aborted) return
    throw translateDatabaseError(error)
  } finally {
    for (const step of cleanUp) step()
  }
}

/** Yields the logged changes up to `now`, then those in the queue, which has everything after `now`. */
async function* replayThenFollow(
  ctx: Context,
  options: FollowOptions,
  now: string,
  queue: ChangeQueue,
): AsyncGenerator<FeedEvent, void> {
  const { stream, after = now, admit } = options
  const read = async (from: string): Promise<Changes['meta']> =>
    from === now ? { changes: [], position: now, hasMore: false } : (await readChangesSince(ctx, stream, from)).meta

  let known = await read(after)
  // Check access last, so that a caller with access now had it when the changes were read.
  let isOver = await admit()
  yield tracked(after, { type: 'position', position: after })
  const [epoch = '', begin] = after.split(':')
  let last = Number(begin)
  for (;;) {
    for (const change of known.changes) {
      queue.assertOpen()
      last = change.seq
      yield toPart(epoch, change)
    }
    if (!known.hasMore) break
    known = await read(known.position)
    isOver = await admit()
  }
  yield* followNew(queue, { epoch, last, isOver })
}

interface FeedState {
  epoch: string
  /** The number of the last change that was sent. */
  last: number
  isOver: (change: LoggedChange) => boolean
}

async function* followNew(
  queue: ChangeQueue,
  { epoch, last: begin, isOver }: FeedState,
): AsyncGenerator<FeedEvent, void> {
  for (let last = begin; ; ) {
    const next = await queue.next()
    if ('content' in next) {
      yield tracked(`${epoch}:${last}`, { type: 'passing', ...next })
      continue
    }
    if (next.seq <= last) continue
    if (isOver(next)) throw new Problem('not_found')
    last = next.seq
    yield toPart(epoch, next)
  }
}

const toPart = (epoch: string, { seq, kind, subject, at, record }: Change): FeedEvent =>
  tracked(`${epoch}:${seq}`, { type: 'change', seq, kind, subject, at, ...(record && { record }) })

/** Changes buffered for a client; beyond this it must reconnect and read them from the log. */
const MAX_WAITING = 1000
/** Beyond this number of buffered items a client gets neither ephemeral events nor records, which it then reads itself. */
const MAX_WAITING_WHOLE = 50

/** Buffer of the events of a stream that a client has not read yet. */
class ChangeQueue implements StreamFollower {
  readonly #onOverflow: () => void
  #waiting: (LoggedChange | EphemeralEvent)[] = []
  #end: Error | undefined
  #wake = () => {}

  constructor(onOverflow: () => void) {
    this.#onOverflow = onOverflow
  }

  onChange(change: LoggedChange): void {
    if (this.#end) return
    this.#waiting.push(this.#waiting.length > MAX_WAITING_WHOLE ? { ...change, record: undefined } : change)
    this.#wake()
    if (this.#waiting.length > MAX_WAITING) this.#overflow()
  }

  onEphemeral(event: EphemeralEvent): void {
    if (this.#end || this.#waiting.length > MAX_WAITING_WHOLE) return
    this.#waiting.push(event)
    this.#wake()
  }

  #overflow(): void {
    this.comeBack()
    this.#onOverflow()
  }

  onPositionLost({ epoch, seq }: Position): void {
    this.fail(new Problem('position_too_old', { meta: { position: `${epoch}:${seq}` } }))
  }

  /** Ends at once, and drops the buffered events. */
  fail(error: Error): void {
    this.#end ??= error
    this.#waiting = []
    this.#wake()
  }

  /** Ends with an abort, after which the client reconnects and resumes. */
  comeBack(): void {
    this.fail(new DOMException('The subscription has ended.', 'AbortError'))
  }

  /** Throws the reason if the queue has ended. */
  assertOpen(): void {
    if (this.#end) throw this.#end
  }

  /** Resolves with the next event; throws the reason if the queue has ended. */
  async next(): Promise<LoggedChange | EphemeralEvent> {
    for (;;) {
      this.assertOpen()
      const change = this.#waiting.shift()
      if (change) return change
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
