import { z } from 'zod'
import { endSessions } from '../../entities/identity/session.sql.ts'
import { Problem } from '../core/problems.ts'
import { sessionUser } from '../core/trpc.ts'
import { isSameStanding } from '../ports/session.ts'
import type { ListedSession } from '../ports/session-roll.ts'
import { leave } from './sign-out.ts'
import { type Device, readUserAgent } from './user-agent.ts'

/** A session as its owner sees it. What opens it is not in here. */
interface OwnSession extends Device {
  handle: string
  beganAt: string
  /** To the minute. */
  lastUsedAt: string
  isCurrent: boolean
}

/** What people do with their own sessions. */
export const ownSessions = {
  /** Where the person is signed in, the last used first. */
  list: sessionUser.query(async ({ ctx: { browser, services, who } }): Promise<OwnSession[]> => {
    const { session, handle } = browser
    const all = await services.sessionRoll.list(who.person.id)
    return all
      .filter(({ record }) => session && isSameStanding(record.standing, session.standing))
      .sort((one, other) => other.record.renewedAt - one.record.renewedAt)
      .map((listed) => ownSession(listed, handle))
  }),

  /** Ends one, on every replica at once; for this one it is signing out, with an address to go on to. */
  end: sessionUser
    .input(z.strictObject({ handle: z.string().max(64) }))
    .mutation(async ({ ctx, input: { handle } }): Promise<{ redirectUri?: string }> => {
      if (handle === ctx.browser.handle) return leave(ctx)
      const ended = await ctx.services.sessionRoll.end(ctx.who.person.id, handle)
      if (!ended) throw new Problem('not_found', { detail: 'You have no such session.' })
      return {}
    }),

  /** Ends all sessions of the person but this one, which goes on under another id. */
  endOthers: sessionUser.mutation(async ({ ctx }) => {
    const { session } = ctx.browser
    const { id } = ctx.who.person
    const [next] = await ctx.services.sql(endSessions, [id])
    // Somebody removed the person, or ended their session, between two lines.
    if (!next || !session) throw new Problem('signed_out')
    await ctx.browser.begin({ ...session, standing: { userId: id, epoch: next.epoch } })
  }),

  /** Ends all sessions of the person, this one too. */
  logoutEverywhere: sessionUser.mutation(async ({ ctx }) => {
    await ctx.services.sql(endSessions, [ctx.who.person.id])
    return leave(ctx)
  }),
}

function ownSession({ handle, record }: ListedSession, current: string | undefined): OwnSession {
  const { signedInAt, renewedAt, userAgent } = record
  return {
    handle,
    beganAt: new Date(signedInAt).toISOString(),
    lastUsedAt: new Date(renewedAt).toISOString(),
    ...readUserAgent(userAgent),
    isCurrent: handle === current,
  }
}
