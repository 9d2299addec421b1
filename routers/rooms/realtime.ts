import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import { beginEpoch } from '../../entities/events/change-log.sql.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { about, adminSession, host, router, userWith } from '../core/trpc.ts'
import type { ChangeBus } from '../ports/change-bus.ts'
import { findChannelAccess, type Grant, readChannel, type SignedGrant, signGrant } from './channels.ts'

const socketId = z.string().regex(/^\d{1,10}\.\d{1,10}$/, 'is no id of a connection')
const signedGrant = z.object({
  auth: z.string().describe('`{key}:{signature}`.'),
  channel_data: z.string().describe('The subscriber as JSON, which the signature covers.'),
})

export const realtimeRouter = router({
  /** Reports the open connections of every replica. */
  replicas: adminSession.query(({ ctx }): Promise<ReplicaReport[]> => collectReplicaReports(ctx.services.changes.bus)),

  authorize: userWith('read')
    .meta(about('Sign that the caller may subscribe a real-time connection of theirs to a channel.', signedGrant))
    .input(z.strictObject({ socketId, channel: z.string().max(164) }))
    .mutation(async ({ ctx, input }): Promise<SignedGrant> => {
      await assertMaySubscribe(ctx, ctx.caller.person.id, input.channel)
      return signGrant({ ...ctx.services.settings.realtime, ...input }, toGrant(ctx))
    }),
})

async function assertMaySubscribe({ services }: Context, person: number, name: string): Promise<void> {
  const channel = readChannel(name)
  if (channel?.kind === 'person' && channel.id !== person) throw new Problem('not_permitted')
  const admission = channel && (await findChannelAccess(services.rooms.directory, person, channel))
  if (!admission) throw new Problem('not_found', { detail: 'There is no such channel.' })
}

function toGrant({ callerContext: { current }, browser }: Context): Grant {
  if (current.type !== 'user') throw new Problem('wrong_user_type')
  const { id, name, username } = current.person
  const credential = current.token ? toCredential(current.token) : { session: browser?.session?.handle }
  return { user_id: `${id}`, user_info: { name, username }, ...credential }
}

const toCredential = ({ id, abilities }: { id: number; abilities: readonly string[] }): Partial<Grant> => ({
  token: id,
  ...(!abilities.includes('write') && { listens_only: true }),
})

/** Topics on the bus: the report of a replica, and the query for all reports. */
export const REPLICA_TOPIC = 'replica'
export const REPLICA_QUERY_TOPIC = 'replicas asked'

/** Milliseconds that replicas have to reply. */
const REPLY_TIMEOUT_MS = 1500
const ATTEMPTS = 5

/** Open connections and subscriptions of a replica. */
export interface ReplicaStats {
  connections: number
  people: number
  channels: number
  /** Subscriptions by server-sent events. */
  subscriptions: number
  /** Streams that are catching up from the log. */
  behind: number
  /** Latency of the slowest recent change from the log to the replica, in milliseconds. */
  lagMs: number
}

export interface ReplicaReport extends ReplicaStats {
  replica: string
  /** Names of failing components; null before the first check. */
  failing: string[] | null
}

/** Collects the reports of all replicas; returns none without a bus. */
export async function collectReplicaReports(bus: ChangeBus): Promise<ReplicaReport[]> {
  const reports = new Map<string, ReplicaReport>()
  const onMessage = (topic: string, content: unknown) => {
    const report = content as ReplicaReport
    if (topic === REPLICA_TOPIC) reports.set(report.replica, report)
  }
  const stop = bus.subscribe({ onChanges() {}, onInterruption() {}, onMessage })
  try {
    // The query is repeated, because the bus may still be connecting.
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      bus.broadcast(REPLICA_QUERY_TOPIC, {})
      await pause(REPLY_TIMEOUT_MS / ATTEMPTS)
    }
  } finally {
    stop()
  }
  return [...reports.values()]
}

export const changeLogRouter = router({
  /**
   * Begins a new epoch after a restore that the database does not reveal: earlier positions are refused from now on.
   */
  restored: host.mutation(async ({ ctx }) => {
    await ctx.services.sql(beginEpoch)
  }),
})
