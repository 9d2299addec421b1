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
  channel_data: z.string().describe('For whom it was signed, as JSON. The signature covers it.'),
})

export const realtimeRouter = router({
  /** What is open at every replica. */
  replicas: adminSession.query(({ ctx }): Promise<ReplicaReport[]> => collectReplicaReports(ctx.services.changeBus)),

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
  const admission = channel && (await findChannelAccess(services.roomDirectory, person, channel))
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

/** What is told over the bus: a replica of itself, and whoever wants to hear it of all. */
export const REPLICA_TOPIC = 'replica'
export const REPLICA_QUERY_TOPIC = 'replicas asked'

/** How long replicas have to answer, in milliseconds. */
const REPLY_TIMEOUT_MS = 1500
const ATTEMPTS = 5

/** What is open at a replica. */
export interface ReplicaStats {
  connections: number
  people: number
  channels: number
  /** Streams that are followed by server-sent events. */
  subscriptions: number
  /** Streams whose changes are being read from the log. */
  behind: number
  /** How long the slowest change of the last seconds took from the log to the replica, in milliseconds. */
  lagMs: number
}

export interface ReplicaReport extends ReplicaStats {
  replica: string
  /** The names of parts that do not work there; null until it has looked. */
  failing: string[] | null
}

/** Asks all replicas; none answers where there is no bus between them. */
export async function collectReplicaReports(bus: ChangeBus): Promise<ReplicaReport[]> {
  const reports = new Map<string, ReplicaReport>()
  const told = (topic: string, content: unknown) => {
    const report = content as ReplicaReport
    if (topic === REPLICA_TOPIC) reports.set(report.replica, report)
  }
  const stop = bus.subscribe({ onChanges() {}, onInterruption() {}, onMessage: told })
  // The bus may have just begun to connect.
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    bus.broadcast(REPLICA_QUERY_TOPIC, {})
    await pause(REPLY_TIMEOUT_MS / ATTEMPTS)
  }
  stop()
  return [...reports.values()]
}

export const changeLogRouter = router({
  /** The database was restored in a way that it does not show: positions from before are refused from now on. */
  restored: host.mutation(async ({ ctx }) => {
    await ctx.services.sql(beginEpoch)
  }),
})
