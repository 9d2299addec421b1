import { type TrackedEnvelope, tracked } from '@trpc/server'
import { z } from 'zod'
import { findChanges, findPosition, type LoggedChange } from '../../entities/events/change-log.sql.ts'
import type { Caller } from '../core/caller.ts'
import type { Stream } from '../core/change-recorder.ts'
import { type Context, requireCredential } from '../core/context.ts'
import { translateDatabaseError } from '../core/database-errors.ts'
import { Problem } from '../core/problems.ts'
import type { EphemeralEvent, Position, StreamFollower } from '../ports/change-streams.ts'

/** As many as come at once. */
const MAX_CHANGES = 500

const position = z
  .string()
  .regex(/^[0-9a-f]{12}:\d{1,15}$/, { error: 'is no position: {epoch}:{seq}' })
  .describe(
    'The position, `{epoch}:{seq}`, after which to begin. Without it the answer is the position alone: ask for it first, then read the data.',
  )

export const changesInput = z.strictObject({ page: z.strictObject({ after: position.optional() }).optional() })

interface Changes {
  meta: {
    /** Empty where nothing has changed. */
    changes: Pick<LoggedChange, 'seq' | 'kind' | 'subject' | 'at'>[]
    /** Where to go on from. */
    position: string
    /** Whether there are more already. */
    hasMore: boolean
  }
}

/** The changes of a stream behind a position, in their order; throws where some of them may be gone. */
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
      detail: 'Read the data anew, then go on from meta.position.',
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
    .describe('The position, `{epoch}:{seq}`, after which to begin; without it from now on.'),
})

type Change = Pick<LoggedChange, 'seq' | 'kind' | 'subject' | 'at'>

/** Behind which position everything is told, then each change, and what is told in passing. The id of a part is the position to come back to. */
type FeedEvent = TrackedEnvelope<
  { type: 'position'; position: string } | ({ type: 'change' } & Change) | ({ type: 'passing' } & EphemeralEvent)
>

interface FollowOptions {
  stream: Stream
  after: string | undefined
  /** Throws where the caller may not follow; resolves with whether they may not any more from a change on. */
  admit: () => Promise<(change: LoggedChange) => boolean>
}

type SubscriberContext = Context & { caller: Extract<Caller, { type: 'user' }> }

/** Tells the changes of a stream as they come, each once and in their order. */
export async function* followChanges(ctx: SubscriberContext, options: FollowOptions): AsyncGenerator<FeedEvent, void> {
  const { services } = ctx
  const signal = ctx.signal()
  const queue = new ChangeQueue(() => ctx.hangUp())
  const gone = () => queue.comeBack()
  const subscriber = {
    person: ctx.caller.person.id,
    credential: requireCredential(ctx),
    onSignedOut: () => queue.fail(new Problem('signed_out')),
    onDrain: gone,
  }
  const cleanUp: (() => void)[] = [() => signal.removeEventListener('abort', gone)]
  try {
    signal.addEventListener('abort', gone, { once: true })
    cleanUp.push(await services.subscriptions.open(subscriber))
    const { position, stop } = await services.changeStreams.follow(options.stream, queue)
    cleanUp.push(stop)
    yield* replayThenFollow(ctx, options, `${position.epoch}:${position.seq}`, queue)
  } catch (error) {
    // Nobody waits any more for what this would throw, and a rejection that nobody takes ends the process.
    if (signal.aborted) return
    throw translateDatabaseError(error)
  } finally {
    for (const step of cleanUp) step()
  }
}

/** `now` is the position behind which the queue has everything. */
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
  // Asked last: whoever is let in now was let in when the changes were read.
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
  /** The number of the last change that was told. */
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

const toPart = (epoch: string, { seq, kind, subject, at }: Change): FeedEvent =>
  tracked(`${epoch}:${seq}`, { type: 'change', seq, kind, subject, at })

/** Changes that wait for a client; one that has more to read comes back and reads them from the log. */
const MAX_WAITING = 1000
/** With so much to read a client is told nothing in passing. */
const MAX_WAITING_PASSING = 50

/** What a stream tells and a client has not read yet. */
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
    this.#waiting.push(change)
    this.#wake()
    if (this.#waiting.length > MAX_WAITING) this.#overflow()
  }

  onEphemeral(event: EphemeralEvent): void {
    if (this.#end || this.#waiting.length > MAX_WAITING_PASSING) return
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

  /** Ends at once: what waits is not told any more. */
  fail(error: Error): void {
    this.#end ??= error
    this.#waiting = []
    this.#wake()
  }

  /** Ends without a word, which makes the client come back to where it was. */
  comeBack(): void {
    this.fail(new DOMException('The subscription has ended.', 'AbortError'))
  }

  /** Throws why it has ended, if it has. */
  assertOpen(): void {
    if (this.#end) throw this.#end
  }

  /** Resolves with what is told next; throws why there is none to come. */
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
