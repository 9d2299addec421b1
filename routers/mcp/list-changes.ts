import { setTimeout as pause } from 'node:timers/promises'
import type { ChatContext } from '../ai/chat-context.ts'
import { readListVersions } from '../ai/tools/offered-servers.ts'
import { requireCredential } from '../core/context.ts'

/** Milliseconds after a change in which further ones, such as those of one synchronisation, are reported with it. */
const PAUSE_MS = 200

const lists = ['tools', 'prompts', 'resources'] as const

/** A list of the caller that has changed. */
export interface ListChange {
  list: (typeof lists)[number]
}

/**
 * Follows what the caller's programs are listed of one tool server, or of all, until the response or the token ends.
 * Throws if the caller follows too much already.
 */
export async function startListChanges(
  ctx: ChatContext,
  server: number | undefined,
): Promise<AsyncGenerator<ListChange, void>> {
  const { subscriptions, streams } = ctx.services.changes
  const ended = new AbortController()
  const wakes = new Wakes(ended.signal)
  const end = () => ended.abort()
  using acquired = new DisposableStack()
  acquired.defer(
    await subscriptions.open({
      person: ctx.caller.person.id,
      credential: requireCredential(ctx),
      onSignedOut: end,
      onDrain: end,
    }),
  )
  const onChange = ({ kind }: { kind: string }) => /^(ai-tools|mcp-servers)\./.test(kind) && wakes.wake()
  const { stop } = await streams.follow('all', { onChange, onPositionLost: () => wakes.wake() })
  acquired.defer(stop)
  const before = await readListVersions(ctx, server)
  const following = acquired.move()
  // An earlier abort notifies no listener: the token may have ended while the lists were read.
  if (ended.signal.aborted) following.dispose()
  else ended.signal.addEventListener('abort', () => following.dispose(), { once: true })
  const gone = ctx.signal()
  if (gone.aborted) end()
  // Nobody may ever ask for a change.
  else gone.addEventListener('abort', end, { once: true })
  return reportChanges(() => readListVersions(ctx, server), before, wakes)
}

async function* reportChanges(
  read: () => ReturnType<typeof readListVersions>,
  before: Awaited<ReturnType<typeof readListVersions>>,
  wakes: Wakes,
): AsyncGenerator<ListChange, void> {
  for (let known = before; await wakes.next(); ) {
    const current = await read()
    for (const list of lists) if (current[list] !== known[list]) yield { list }
    known = current
  }
}

/** Wakes of a reader, of which those that come close together count as one. */
class Wakes {
  readonly #ended: AbortSignal
  #next = Promise.withResolvers<void>()

  constructor(ended: AbortSignal) {
    this.#ended = ended
    ended.addEventListener('abort', () => this.wake(), { once: true })
  }

  wake(): void {
    this.#next.resolve()
  }

  /** Returns false once there are no more. */
  async next(): Promise<boolean> {
    await this.#next.promise
    await pause(PAUSE_MS, undefined, { signal: this.#ended }).catch(() => {})
    this.#next = Promise.withResolvers()
    return !this.#ended.aborted
  }
}
