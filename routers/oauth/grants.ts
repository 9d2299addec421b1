import type { EntityManager } from '@mikro-orm/postgresql'
import { deleteCodesOfUser } from '../../entities/oauth/oauth-code.sql.ts'
import { deleteGrant, deleteGrantsOfUser, type EndedGrant } from '../../entities/oauth/oauth-grant.sql.ts'
import type { ChangeRecorder } from '../core/change-recorder.ts'
import { withChangeLog } from '../core/changes.ts'
import { type Context, describeActor } from '../core/context.ts'
import type { Hooks } from '../core/hooks.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { findUser, type UserSelector } from '../identity/user-selector.ts'
import { tokenCredential } from '../ports/credential-watch.ts'
import type { ConsentContext } from './consent.ts'

/** Deletes a grant with its token, and ends what the program has under way after the commit. */
export async function endGrant(
  { em, changes }: { em: EntityManager; changes: ChangeRecorder },
  id: number,
  userId: number | null,
): Promise<EndedGrant | undefined> {
  const [ended] = await runStatement(em, deleteGrant, [id, userId])
  if (ended) changes.addEnded([tokenCredential(ended.tokenId)])
  return ended
}

export const endOwnGrant = (ctx: ConsentContext, id: number): Promise<{ id: number }> =>
  endGrantOf(ctx, { id, userId: ctx.caller.person.id, whose: 'yours' })

/** Ends a grant of a person as an administrator. */
export async function endGrantFor(ctx: Context, { user, id }: { user: UserSelector; id: number }) {
  const person = await findUser(ctx, user)
  return endGrantOf(ctx, { id, userId: person.id, whose: person.username })
}

interface GrantOfPerson {
  id: number
  userId: number
  /** A refusal names the person so. */
  whose: string
}

async function endGrantOf(ctx: Context, { id, userId, whose }: GrantOfPerson): Promise<{ id: number }> {
  await withChangeLog(ctx, async (em, changes) => {
    const ended = await endGrant({ em, changes }, id, userId)
    if (!ended) throw new Problem('not_found', { detail: `There is no access ${id} of a program of ${whose}.` })
    const { clientName: client, clientHost: host } = ended
    ctx.auditedCall?.setSubject(`user:${userId}`).recordChange({ client, host })
  })
  logEnd(ctx, id, userId)
  return { id }
}

/** Ends the access of all programs of a person, and codes that would give more of it. */
export async function endProgramsOfUser({ userId, em, changes }: Hooks['user-signed-out']): Promise<void> {
  // Codes go first: one that is being exchanged is a grant afterwards.
  await runStatement(em, deleteCodesOfUser, [userId])
  const ended = await runStatement(em, deleteGrantsOfUser, [userId])
  changes.addEnded(ended.map(({ tokenId }) => tokenCredential(tokenId)))
}

export const logEnd = (ctx: Context, grantId: number, userId: number): void =>
  ctx.services.log.info({ ...describeActor(ctx), grantId, userId }, 'the access of a program was ended')
