import { initTRPC } from '@trpc/server'
import type { Ability } from '../entities/access-token.ts'
import type { Caller } from './caller.ts'
import type { Context } from './context.ts'
import { errorShape } from './error-shape.ts'
import { Problem } from './problems.ts'
import type { Browser } from './session.ts'

const t = initTRPC.context<Context>().create({
  errorFormatter: ({ shape, error, ctx }) => errorShape(shape, error, ctx?.requestId),
})

export const { router, createCallerFactory, middleware } = t

type CallerOf<T extends Caller['type']> = Extract<Caller, { type: T }>

/** Lets in callers of these types, and holds tokens to what they were made for; a session may do everything its person may. */
const userType = <T extends Caller['type']>(allowed: readonly T[], needed?: Ability) =>
  middleware(({ ctx, next }) => {
    const who = ctx.caller.current
    if (!allowed.some((type) => type === who.type)) {
      throw new Problem(who.type === 'guest' ? 'signed_out' : 'wrong_user_type')
    }
    assertAble(who, needed)
    // Whatever is handed on copies the whole context, so only a caller who changed meanwhile is.
    return next<{ who: CallerOf<T> }>(ctx.who === who ? {} : { ctx: { who: who as CallerOf<T> } })
  })

function assertAble(who: Caller, needed: Ability | undefined): void {
  if (needed === undefined || who.type !== 'user' || !who.token || who.token.abilities.includes(needed)) return
  throw new Problem('missing_ability', { detail: `The access token lacks the ability '${needed}'.` })
}

const hostOnly = middleware(({ ctx, next }) => {
  if (ctx.origin !== 'host') throw new Problem('host_only')
  return next()
})

const adminOrHost = (needed: Ability) =>
  middleware(({ ctx: { caller, origin }, next }) => {
    const who = caller.current
    if (origin !== 'host') {
      if (who.type === 'guest') throw new Problem('signed_out')
      if (who.type !== 'user' || who.person.role !== 'admin') throw new Problem('admin_only')
      assertAble(who, needed)
    }
    return next()
  })

/** Where a session can be: not with a token, and not on the host. */
const inBrowser = middleware(({ ctx, next }) => {
  if (!ctx.browser) throw new Problem('session_only')
  return next<{ browser: Browser }>({})
})

export interface Audience {
  callers: 'anyone' | 'users' | 'registering users' | 'administrators' | 'the host'
  /** What a token must be good for, where one is used. */
  ability?: Ability
  /** No token is good for it. */
  sessionOnly?: true
}

/** Says of a procedure, beside the middleware that sees to it, who may call it. */
const openTo = (callers: Audience['callers'], how: Omit<Audience, 'callers'> = {}): { audience: Audience } => ({
  audience: { callers, ...how },
})

export const anyone = t.procedure.meta(openTo('anyone'))
export const user = t.procedure.use(userType(['user'])).meta(openTo('users'))
/** A user whose token, where one is used, has the ability. */
export const userWho = (needed: Ability) =>
  t.procedure.use(userType(['user'], needed)).meta(openTo('users', { ability: needed }))
/** A user in the browser. */
export const sessionUser = user.use(inBrowser).meta(openTo('users', { sessionOnly: true }))
/** Anybody in a browser, signed in or not. */
export const browser = anyone.use(inBrowser).meta(openTo('anyone', { sessionOnly: true }))
/** Who has signed in and may have no keys yet. */
export const newcomer = t.procedure
  .use(userType(['registering', 'user']))
  .use(inBrowser)
  .meta(openTo('registering users', { sessionOnly: true }))
/** An administrator of the application, whose token, where one is used, has the ability, or somebody on the host. */
export const adminWho = (needed: Ability) =>
  t.procedure.use(adminOrHost(needed)).meta(openTo('administrators', { ability: needed }))
export const host = t.procedure.use(hostOnly).meta(openTo('the host'))
