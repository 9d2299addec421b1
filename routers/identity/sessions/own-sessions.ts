import { z } from 'zod'
import { endOwnSession, type ListedSession, listSessions } from '../../../entities/identity/session.sql.ts'
import type { LoginMethod } from '../../../entities/identity/session.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { sessionUser } from '../../core/trpc.ts'
import { sessionCredential } from '../../ports/credential-watch.ts'
import type { BrowserSession } from '../../ports/session.ts'
import { endOtherSessions, signOutEverywhere } from '../end-sessions.ts'

/** A session as its owner sees it, without its secrets. */
interface OwnSession extends Device {
  handle: string
  beganAt: string
  /** Precise to the minute. */
  lastUsedAt: string
  isCurrent: boolean
}

/** Procedures for the caller's own sessions. */
export const ownSessions = {
  /** Lists the person's sessions, the last used first. */
  list: sessionUser.query(async ({ ctx: { browser, services, caller } }): Promise<OwnSession[]> => {
    const since = new Date(Date.now() - services.settings.sessionLifetime)
    const listed = await services.sql(listSessions, [caller.person.id, since])
    return listed.map((session) => toOwnSession(session, browser.session?.handle))
  }),

  /** Ends one session on all replicas. For the current one this signs out and returns the next address. */
  end: sessionUser
    .input(z.strictObject({ handle: z.string().max(64) }))
    .mutation(async ({ ctx, input: { handle } }): Promise<{ redirectUri?: string }> => {
      if (handle === ctx.browser.session?.handle) return signOut(ctx)
      const [ended] = await ctx.services.sql(endOwnSession, [ctx.caller.person.id, handle])
      if (!ended) throw new Problem('not_found', { detail: 'You have no such session.' })
      await ctx.services.changes.credentials.announce([sessionCredential(handle)])
      return {}
    }),

  /** Ends all other sessions; this one continues with a new id. */
  endOthers: sessionUser.mutation(async ({ ctx }) => {
    const { browser, caller } = ctx
    const { session } = browser
    if (!session || !('user' in session.subject)) throw new Problem('signed_out')
    await withChangeLog(ctx, (em, changes) => endOtherSessions({ em, changes }, caller.person.id, session.handle))
    await browser.replace(session.subject.user)
  }),

  /** Ends all sessions of the person, this one included, and the access of their programs. */
  logoutEverywhere: sessionUser.mutation(async ({ ctx }) => {
    await withChangeLog(ctx, (em, changes) => signOutEverywhere(ctx, { em, changes }, ctx.caller.person.id))
    return signOut(ctx)
  }),
}

const toOwnSession = (
  { handle, signedInAt, renewedAt, userAgent }: ListedSession,
  current: string | undefined,
): OwnSession => ({
  handle,
  beganAt: signedInAt,
  lastUsedAt: renewedAt,
  ...readUserAgent(userAgent),
  isCurrent: handle === current,
})

/** Browser and operating system by their common names. */
interface Device {
  browser: string | null
  system: string | null
}

type Names = readonly (readonly [name: string, pattern: RegExp])[]

/** The first match counts, because most browsers also name others. */
const browsers: Names = [
  ['Edge', /\bEdg(?:e|A|iOS)?\//],
  ['Opera', /\bOPR\//],
  ['Samsung Internet', /\bSamsungBrowser\//],
  ['Firefox', /\b(?:Firefox|FxiOS)\//],
  ['Chrome', /\b(?:HeadlessChrome|Chrome|Chromium|CriOS)\//],
  ['Safari', /\bVersion\/.*\bSafari\//],
]

const systems: Names = [
  ['Android', /\bAndroid\b/],
  ['iOS', /\b(?:iPhone|iPad|iPod)\b/],
  ['ChromeOS', /\bCrOS\b/],
  ['Windows', /\bWindows\b/],
  ['macOS', /\bMac OS X\b|\bMacintosh\b/],
  ['Linux', /\bLinux\b/],
]

/** Parses the user agent, which may contain anything. */
const readUserAgent = (userAgent: string | null): Device => ({
  browser: findName(browsers, userAgent ?? ''),
  system: findName(systems, userAgent ?? ''),
})

const findName = (names: Names, text: string) => names.find(([, pattern]) => pattern.test(text))?.[0] ?? null

/** Ends the session and returns the next address. */
export async function signOut(ctx: Context & { browser: BrowserSession }): Promise<{ redirectUri: string }> {
  const method = ctx.browser.session?.method
  await ctx.browser.destroy()
  ctx.callerContext.setCaller({ type: 'guest' }, 'logout')
  return { redirectUri: (await findSignOutUri(ctx, method)) ?? '/login' }
}

/** Returns the logout address of the login source. Without it, a single click would sign in again. */
async function findSignOutUri({ services }: Context, method: LoginMethod | undefined): Promise<string | undefined> {
  if (method === undefined || method === 'password') return undefined
  const { redirect, header } = await services.login.sources()
  return method === 'oidc' ? redirect?.logoutUrl() : header?.logoutUrl
}
