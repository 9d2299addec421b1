import { z } from 'zod'
import { findPeopleByName } from '../../../entities/rooms/room.sql.ts'
import { lockPeople } from '../../../entities/rooms/room-member.sql.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { consumePeopleSearch } from '../../identity/find-people.ts'
import { resourceId } from '../../resource/ids.ts'
import { arrayOf } from '../../verbs/run-in.ts'
import { putInto } from './invite.ts'
import { personRole, roomMembers } from './members.ts'

const { wrappedKey, keyEpoch } = roomMembers.attributes

export const invitationsByName = z.strictObject({
  room: resourceId,
  invitations: z
    .array(
      z.strictObject({
        username: z.string().min(1).max(255),
        role: personRole,
        wrappedKey: wrappedKey.schema,
        keyEpoch: keyEpoch.schema.default(0),
      }),
    )
    .max(100),
})

type InvitationsByName = z.output<typeof invitationsByName>

/** Invites everybody who is named, or changes their invitations; where one cannot be invited, nobody is. */
export async function inviteByName(
  ctx: Context,
  inviter: number,
  { room, invitations }: InvitationsByName,
): Promise<{ invited: number }> {
  await Promise.all(invitations.map(() => consumePeopleSearch(ctx, inviter)))
  const people = await idsOf(ctx, invitations)
  await changing(ctx, async (em, changes) => {
    // In one order, before each is looked at on their own.
    await em.execute(lockPeople, [arrayOf([inviter, ...people.map(Number)])])
    for (const [index, { username: _, ...invitation }] of invitations.entries())
      await putInto(
        ctx,
        { em, changes, inviter },
        { ...invitation, room, user: people[index] ?? null, proofHash: null },
      )
  })
  return { invited: invitations.length }
}

async function idsOf(ctx: Context, invitations: InvitationsByName['invitations']): Promise<string[]> {
  const names = invitations.map(({ username }) => username.toLowerCase())
  const found = await ctx.services.sql(findPeopleByName, [names])
  const byName = new Map(found.map(({ id, username }) => [username, id]))
  const issues = names.flatMap((name, index) =>
    byName.has(name) ? [] : [{ path: ['invitations', index, 'username'], message: 'is the name of nobody' }],
  )
  if (issues.length > 0) throw new Problem('not_found', { issues })
  return names.flatMap((name) => byName.get(name) ?? [])
}
