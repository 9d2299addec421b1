import { z } from 'zod'
import {
  endOwnSession,
  endSessionsOf,
  type ListedSession,
  listSessions,
} from '../../../entities/identity/session.sql.ts'
import type { LoginMethod } from '../../../entities/identity/session.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { sessionUser } from '../../core/trpc.ts'
import { sessionCredential } from '../../ports/credential-watch.ts'
import type { BrowserSession } from '../../ports/session.ts'
import { endOtherSessions } from '../end-sessions.ts'

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
  list: sessionUser.query(async ({ ctx: { browser, services, caller } }): Promise<OwnSession[]> => {
    const since = new Date(Date.now() - services.settings.sessionLifetime)
    const listed = await services.sql(listSessions, [caller.person.id, since])
    return listed.map((session) => ownSession(session, browser.session?.handle))
  }),

  /** Ends one, on every replica at once; for this one it is signing out, with an address to go on to. */
  end: sessionUser
    .input(z.strictObject({ handle: z.string().max(64) }))
    .mutation(async ({ ctx, input: { handle } }): Promise<{ redirectUri?: string }> => {
      if (handle === ctx.browser.session?.handle) return signOut(ctx)
      const [ended] = await ctx.services.sql(endOwnSession, [ctx.caller.person.id, handle])
      if (!ended) throw new Problem('not_found', { detail: 'You have no such session.' })
      await ctx.services.credentials.announce([sessionCredential(handle)])
      return {}
    }),

  /** Ends all sessions of the person but this one, which goes on under another id. */
  endOthers: sessionUser.mutation(async ({ ctx }) => {
    const { browser, caller } = ctx
    const { session } = browser
    if (!session || !('user' in session.subject)) throw new Problem('signed_out')
    await withChangeLog(ctx, (em, changes) => endOtherSessions({ em, changes }, caller.person.id, session.handle))
    await browser.replace(session.subject.user)
  }),

  /** Ends all sessions of the person, this one too. */
  logoutEverywhere: sessionUser.mutation(async ({ ctx }) => {
    const ended = await ctx.services.sql(endSessionsOf, [ctx.caller.person.id])
    await ctx.services.credentials.announce(ended.map(({ hash }) => sessionCredential(hash)))
    return signOut(ctx)
  }),
}

const ownSession = (
  { handle, signedInAt, renewedAt, userAgent }: ListedSession,
  current: string | undefined,
): OwnSession => ({
  handle,
  beganAt: signedInAt,
  lastUsedAt: renewedAt,
  ...readUserAgent(userAgent),
  isCurrent: handle === current,
})

/** What somebody browses with, by the names that people know. */
interface Device {
  browser: string | null
  system: string | null
}

type Names = readonly (readonly [name: string, pattern: RegExp])[]

/** The first that fits: most browsers also name those whose pages they want to be sent. */
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

/** Reads what a browser calls itself; it may say anything. */
const readUserAgent = (userAgent: string | null): Device => ({
  browser: nameIn(browsers, userAgent ?? ''),
  system: nameIn(systems, userAgent ?? ''),
})

const nameIn = (names: Names, text: string) => names.find(([, pattern]) => pattern.test(text))?.[0] ?? null

/** Ends the session of a call; says where to go on. */
export async function signOut(ctx: Context & { browser: BrowserSession }): Promise<{ redirectUri: string }> {
  const method = ctx.browser.session?.method
  await ctx.browser.destroy()
  ctx.callerContext.setCaller({ type: 'guest' }, 'logout')
  return { redirectUri: (await signOutUri(ctx, method)) ?? '/login' }
}

/** The address that signs out at the login source, too; without it, one click would sign in again. */
async function signOutUri({ services }: Context, method: LoginMethod | undefined): Promise<string | undefined> {
  if (method === undefined || method === 'password') return undefined
  const { redirect, header } = await services.loginSources()
  return method === 'oidc' ? redirect?.logoutUrl() : header?.logoutUrl
}
