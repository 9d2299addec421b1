import { hashSeenAssistants } from '../../entities/views/seen-assistants.sql.ts'
import type { Caller } from '../core/caller.ts'
import type { Context } from '../core/context.ts'
import { isAdministrator } from '../core/trpc.ts'
import type { EphemeralEvent } from '../ports/change-streams.ts'

/** Milliseconds after a change in which further ones count as one, and those over which the reads of all followers are spread. */
const [PAUSE_MS, SPREAD_MS] = [200, 800]

/** The changes after which a person may see other assistants, or may no longer ask one. */
const isCause = ({ kind }: { kind: string }) => /^(assistants|ai-models|ai-providers|users)\./.test(kind)

/** It names no assistant, because the person reads those that they may see. */
const event: EphemeralEvent = { kind: 'assistants.updated', subject: '*', content: '' }

/**
 * Reports to a person that assistants have changed which they may see, and nothing about others. Resolves with a function that ends
 * this. A follower that comes back is told once, as it has missed what was reported meanwhile.
 */
export async function followSeenAssistants(
  { services, usage, caller }: Context & { caller: Extract<Caller, { type: 'user' }> },
  isBack: boolean,
  report: (event: EphemeralEvent) => void,
): Promise<() => void> {
  const { id } = caller.person
  const values = [id, usage, isAdministrator(caller)]
  const read = async () => (await services.sql(hashSeenAssistants, values))[0]?.hash
  using following = new DisposableStack()
  let timer: ReturnType<typeof setTimeout> | undefined
  let known: string | undefined
  let hasEnded = false
  following.defer(() => {
    hasEnded = true
    clearTimeout(timer)
  })
  const compare = async () => {
    const inTurn = async () => {
      timer = undefined
      return hasEnded ? known : read()
    }
    // After a failure the next change is reported, whatever it is.
    const current = await services.limits.comparisons(inTurn).catch(() => undefined)
    if (current !== known && !hasEnded) report(event)
    known = current
  }
  const wake = () => {
    timer ??= setTimeout(() => void compare(), PAUSE_MS + Math.random() * SPREAD_MS)
  }
  const follower = { onChange: (change: { kind: string }) => isCause(change) && wake(), onPositionLost: wake }
  for (const stream of ['all', `user:${id}`])
    following.defer((await services.changes.streams.follow(stream, follower)).stop)
  if (isBack) wake()
  else known = await read()
  const ended = following.move()
  return () => ended.dispose()
}
