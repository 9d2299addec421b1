import { z } from 'zod'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { about, adminSession, router, userWith } from '../../core/trpc.ts'
import { type Grant, type SignedGrant, signGrant } from './channel-grant.ts'
import { admit, readChannel } from './channels.ts'
import { askReplicas, type ReplicaReport } from './replicas.ts'

const socketId = z.string().regex(/^\d{1,10}\.\d{1,10}$/, 'is no id of a connection')
const signed = z.object({
  auth: z.string().describe('`{key}:{signature}`.'),
  channel_data: z.string().describe('For whom it was signed, as JSON. The signature covers it.'),
})

export const realtimeRouter = router({
  /** What is open at every replica. */
  replicas: adminSession.query(({ ctx }): Promise<ReplicaReport[]> => askReplicas(ctx.services.changeBus)),

  authorize: userWith('read')
    .meta(about('Sign that the caller may subscribe a real-time connection of theirs to a channel.', signed))
    .input(z.strictObject({ socketId, channel: z.string().max(164) }))
    .mutation(async ({ ctx, input }): Promise<SignedGrant> => {
      await assertMaySubscribe(ctx, ctx.caller.person.id, input.channel)
      return signGrant({ ...ctx.services.settings.realtime, ...input }, toGrant(ctx))
    }),
})

async function assertMaySubscribe({ services }: Context, person: number, name: string): Promise<void> {
  const channel = readChannel(name)
  if (channel?.of === 'person' && channel.id !== person) throw new Problem('not_permitted')
  const admission = channel && (await admit(services.roomDirectory, person, channel))
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
