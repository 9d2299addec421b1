import { type AnyTRPCProcedure, initTRPC, type TRPCDefaultErrorShape, type TRPCError } from '@trpc/server'
import type { z } from 'zod'
import type { Ability } from '../../entities/identity/access-token.ts'
import type { BrowserSession } from '../ports/session.ts'
import { traceWork } from '../ports/traces.ts'
import type { Exposure } from '../resource/exposure.ts'
import { recordCompletedCall, recordRefusedCall, startAuditedCall } from './audit.ts'
import type { AuditedCall } from './audited-call.ts'
import type { Caller } from './caller.ts'
import type { Context } from './context.ts'
import { translateDatabaseError } from './database-errors.ts'
import { readIssues, shorten, truncateIssues } from './issues.ts'
import { getErrorKind, type Issue, MAX_ISSUES, Problem } from './problems.ts'
import { assertRawInput } from './raw-input.ts'

const MAX_PATH = 100
const MAX_SENTENCE = 300

/** What a first-party program is told of a failure: nothing of the inside, and the request's id in every case. */
function toErrorShape(shape: TRPCDefaultErrorShape, error: TRPCError, ctx: Context | undefined) {
  const { code, httpStatus, path } = shape.data
  const issues = readIssues(error)
  return {
    code: shape.code,
    message: shorten(writeMessage(error, issues), MAX_SENTENCE),
    data: {
      code,
      httpStatus,
      path: path && shorten(path, MAX_PATH),
      problem: error instanceof Problem ? error.problem : undefined,
      ...(error instanceof Problem && error.meta),
      issues: limitIssues(issues, ctx),
      // A refusal at the door has no context, and carries the id itself.
      requestId: ctx?.requestId ?? (error as { requestId?: string }).requestId,
    },
  }
}

/** The calls of a batch share one answer, and so what it has room for. */
function limitIssues(issues: readonly Issue[], ctx: Context | undefined): Issue[] {
  const { reportedIssues = 0 } = ctx?.hints ?? {}
  const few = truncateIssues(issues, MAX_ISSUES - reportedIssues).map(({ path, message }) => ({ path, message }))
  if (ctx) ctx.hints.reportedIssues = reportedIssues + few.length
  return few
}

function writeMessage(error: TRPCError, issues: readonly Issue[]): string {
  if (error instanceof Problem) return error.message
  if (error.code === 'INTERNAL_SERVER_ERROR') return getErrorKind('internal').title
  if (issues.length > 0) return getErrorKind('invalid').title
  return error.cause instanceof SyntaxError ? 'The input is not valid JSON.' : error.message
}

export interface Access {
  callers:
    | 'anyone'
    | 'anyone, apps included'
    | 'external apps'
    | 'users'
    | 'users, apps included'
    | 'registering users'
    | 'administrators'
    | 'the host'
  /** What a token must be good for, where one is used. */
  ability?: Ability
  /** No token is good for it. */
  sessionOnly?: true
  /** A person must have signed in a moment ago. */
  fresh?: true
}

/** What a procedure says of itself, beside its input and its output. */
export interface ProcedureMeta {
  /** Who may call it. */
  access?: Access
  /** What it carries out on which type. */
  exposes?: Exposure
  /** Whether it refuses some changes of a row without the version that the caller has read. */
  needsVersion?: boolean
  /** How much it is sent. */
  body?: BodySize
  /** Whether a file comes with its input, or is its answer. */
  file?: 'in' | 'out'
  /** Whether its answer comes piece by piece. */
  streams?: boolean
  /** Whether it waits for what is outside of this service. */
  waitsOutside?: boolean
  /** What it does, in a sentence for documents and clients. */
  about?: string
  /** The shape of its answer, where that is no resource. */
  answer?: z.ZodType
}

const t = initTRPC
  .context<Context>()
  .meta<ProcedureMeta>()
  .create({
    errorFormatter: ({ shape, error, ctx }) => toErrorShape(shape, error, ctx),
  })

export const { router, createCallerFactory, mergeRouters, middleware } = t

type CallerOf<T extends Caller['type']> = Extract<Caller, { type: T }>

export const metaOf = ({ meta = {} }: AnyTRPCProcedure): ProcedureMeta => meta

/** Who may call a procedure; where it does not say so, nobody from outside. */
export const accessOf = (procedure: AnyTRPCProcedure): Access => metaOf(procedure).access ?? { callers: 'the host' }

/** Throws where the caller may not call what has this access. Facades ask before they read a body. */
export function assertMayCall(ctx: Context, { callers, ability, sessionOnly, fresh }: Access): void {
  rules[callers](ctx)
  if (callers === 'administrators' && ctx.origin === 'host') return
  assertHasAbility(ctx, ability)
  if (sessionOnly && !ctx.browser) throw new Problem('session_only')
  if (fresh) assertFresh(ctx)
}

/** Throws where the person of a session has not proved a moment ago who they are. */
export function assertFresh({ browser, services: { settings } }: Pick<Context, 'browser' | 'services'>): void {
  const signedInAt = browser?.session?.signedInAt ?? 0
  if (Date.now() - signedInAt >= settings.freshSessionTime) throw new Problem('fresh_login_needed')
}

const rules: Record<Access['callers'], (ctx: Context) => void> = {
  'anyone, apps included'() {},
  anyone(ctx) {
    if (ctx.callerContext.current.type === 'external-app') throw new Problem('wrong_user_type')
  },
  'external apps': (ctx) => assertUserType(ctx, ['external-app']),
  users: (ctx) => assertUserType(ctx, ['user']),
  'users, apps included': (ctx) => assertUserType(ctx, ['user', 'external-app']),
  'registering users': (ctx) => assertUserType(ctx, ['registering', 'user']),
  administrators(ctx) {
    const { current } = ctx.callerContext
    if (ctx.origin === 'host') return
    if (current.type === 'guest') throw new Problem('signed_out')
    if (!isAdministrator(current)) throw new Problem('admin_only')
  },
  'the host'({ origin }) {
    if (origin !== 'host') throw new Problem('host_only')
  },
}

/** No app administers for a person who may. */
export const isAdministrator = (caller: Caller) =>
  caller.type === 'user' && caller.person.role === 'admin' && caller.token?.appId === undefined

function assertUserType({ callerContext: { current } }: Context, allowed: readonly Caller['type'][]): void {
  if (allowed.includes(current.type)) return
  throw new Problem(current.type === 'guest' ? 'signed_out' : 'wrong_user_type')
}

/** A session may do everything its person may. */
function assertHasAbility({ callerContext: { current } }: Context, needed: Ability | undefined): void {
  if (needed === undefined || current.type !== 'user' || !current.token || current.token.abilities.includes(needed))
    return
  throw new Problem('missing_ability', { detail: `The access token lacks the ability '${needed}'.` })
}

/**
 * A base procedure: lets in who may call, looks at what they send, narrows the type of the context, and tells of a failure
 * where the database is out of reach. One middleware does it all, as each of them makes new copies of the context and options.
 */
function procedureFor<Known extends object = object>(callers: Access['callers'], how: Omit<Access, 'callers'> = {}) {
  const access: Access = { callers, ...how }
  const isActing = how.ability === 'write' || how.ability === 'ai'
  const isAdministrative = callers === 'administrators' || callers === 'the host'
  const runProcedure = async ({ ctx, meta, path, type, getRawInput, next }: MiddlewareOptions) => {
    using _turn = await acquireTurn(ctx, access, meta)
    assertMayCall(ctx, access)
    const input = await getRawInput()
    assertRawInput(input)
    if (isActing) await emitUserActing(ctx)
    const { current } = ctx.callerContext
    // An earlier call of the same request may have changed who calls. Given nothing new, tRPC makes no copy of the context.
    const auditedCall = startAuditedCall(ctx, { path, isMutation: type === 'mutation', isAdministrative, input })
    const changes: Partial<Context> | undefined =
      current === ctx.caller && !auditedCall ? undefined : { caller: current, auditedCall }
    const result = await next({ ctx: changes as unknown as Known })
    if (auditedCall) await recordOutcome({ ...ctx, caller: current }, auditedCall, result)
    if (!result.ok) throw translateDatabaseError(result.error)
    return result
  }
  return t.procedure.meta({ access }).use((options) => traceWork(options.path, {}, () => runProcedure(options)))
}

type MiddlewareOptions = Parameters<Parameters<typeof t.middleware>[0]>[0]

type ProcedureResult = { ok: true } | { ok: false; error: TRPCError }

async function recordOutcome(ctx: Context, act: AuditedCall, result: ProcedureResult): Promise<void> {
  if (result.ok) return recordCompletedCall(ctx, act)
  const { error } = result
  recordRefusedCall(ctx, act, error instanceof Problem ? error.problem : error.code.toLowerCase())
}

/** How soon somebody may come again whose requests are too many at once. */
const RETRY_SECONDS = 1

/**
 * Waits while as many requests of the same person, or app, use the database as may at a time, so that they leave it to others.
 * What waits for a model, a site, the bytes of a file or the decoding of a picture takes no turn, as it is counted by itself.
 */
async function acquireTurn(ctx: Context, { ability }: Access, meta: ProcedureMeta | undefined) {
  const { current } = ctx.callerContext
  const isLong = ability === 'ai' || meta?.streams || meta?.file || meta?.waitsOutside || meta?.body === 'picture'
  if (isLong || ctx.origin === 'host' || (current.type !== 'user' && current.type !== 'external-app')) return undefined
  const key = current.type === 'user' ? `user:${current.person.id}` : `app:${current.appId}`
  try {
    return await ctx.services.semaphores.person.acquire(key, ctx.signal)
  } catch (error) {
    ctx.hints.retryAfterSeconds = RETRY_SECONDS
    throw error
  }
}

/** Listeners may refuse it. */
async function emitUserActing({
  callerContext: { current },
  origin,
  services: { hooks, sql },
}: Context): Promise<void> {
  if (origin === 'wire' && current.type === 'user')
    await hooks.emitSerial('user-acting', { userId: current.person.id, sql })
}

type User = { caller: CallerOf<'user'> }
/** Where a session can be: not with a token, and not on the host. */
type InBrowser = { browser: BrowserSession }

export const about = (sentence: string, answer?: z.ZodType): ProcedureMeta => ({
  about: sentence,
  ...(answer && { answer }),
})

/** Anybody but an app by its own credential. */
export const anyone = procedureFor('anyone')
/** An external app, by its own credential. */
export const externalApp = procedureFor<{ caller: CallerOf<'external-app'> }>('external apps')
export const anyoneOrApp = procedureFor('anyone, apps included')
export const user = procedureFor<User>('users')
/** A user whose token, where one is used, has the ability. */
export const userWith = (ability: Ability) => procedureFor<User>('users', { ability })
/** The same, or an external app, by its own credential. */
export const userOrAppWith = (ability: Ability) =>
  procedureFor<{ caller: CallerOf<'user' | 'external-app'> }>('users, apps included', { ability })
/** A user in the browser. */
export const sessionUser = procedureFor<User & InBrowser>('users', { sessionOnly: true })
/** Anybody in a browser, signed in or not. */
export const browserProcedure = procedureFor<InBrowser>('anyone', { sessionOnly: true })
/** Who has signed in and may have no keys yet. */
export const registeringUser = procedureFor<{ caller: CallerOf<'user' | 'registering'> } & InBrowser>(
  'registering users',
  {
    sessionOnly: true,
  },
)
/** An administrator of the application, whose token, where one is used, has the ability, or somebody on the host. */
export const adminWith = (ability: Ability) => procedureFor('administrators', { ability })
/** An administrator in the browser, or somebody on the host. */
export const adminSession = procedureFor('administrators', { sessionOnly: true })
/** The same, once more signed in: for what changes or destroys. */
export const freshAdmin = procedureFor('administrators', { sessionOnly: true, fresh: true })
export const host = procedureFor('the host')

/**
 * How much a procedure is sent at most, by what its input needs; a form unless it says otherwise. Facades know the bytes.
 */
export type BodySize =
  | 'form'
  | 'record'
  | 'long text'
  | 'conversation'
  | 'first keys'
  | 'room keys'
  | 'keychain'
  | 'picture'
  | 'AI request'
  | 'AI request with files'

/** Says of a procedure what its input needs. */
export const withBodySize = (body: BodySize): { body: BodySize } => ({ body })
