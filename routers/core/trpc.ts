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
import { getErrorKind, type Issue, Problem } from './problems.ts'
import { assertRawInput } from './raw-input.ts'

const MAX_PATH = 100
const MAX_SENTENCE = 300

/** Builds the error for first-party programs: no internals, and always the request id. */
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
      ...(error instanceof Problem && (error.meta as ProblemMeta)),
      issues: limitIssues(issues, ctx),
      // An error before the context exists carries the id itself.
      requestId: ctx?.requestId ?? (error as { requestId?: string }).requestId,
    },
  }
}

/** The data of a problem that first-party programs read. */
interface ProblemMeta {
  /** ISO time at which a repetition may succeed. */
  retryAt?: string
  /** The limit that refused a call, with its numbers as texts. */
  limit?: string
  limitSubject?: string
  limitUnit?: string
  limitCurrency?: string
  limitLeft?: string
  limitNeeded?: string
  inputTokens?: string
  answerTokens?: string
  fittingAnswerTokens?: string
}

const limitIssues = (issues: readonly Issue[], ctx: Context | undefined): Issue[] =>
  (ctx ? ctx.notes.limitIssues(issues) : truncateIssues(issues)).map(({ path, message, reason }) => ({
    path,
    message,
    ...(reason && { reason }),
  }))

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
  /** Ability that a token needs, if one is used. */
  ability?: Ability
  /** True if no token is accepted. */
  sessionOnly?: true
  /** True if the session must be fresh; a token also needs the ability `admin`. */
  sensitive?: true
}

/** Metadata of a procedure, beside its input and output. */
export interface ProcedureMeta {
  /** The callers that may call it. */
  access?: Access
  /** The verb and type that it exposes. */
  exposes?: Exposure
  /** True if some changes of a row require the version that the caller has read. */
  needsVersion?: boolean
  /** Size class of its body. */
  body?: BodySize
  /** Set if a file comes with its input or is its result. */
  file?: 'in' | 'out'
  /** True if its result is streamed. */
  streams?: boolean
  /** True if it waits for external systems. */
  waitsOutside?: boolean
  /** Describes it in one sentence, for documentation and clients. */
  about?: string
  /** Schema of its result, if this is no resource. */
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

/** Returns the access of a procedure; only the host may call one without metadata. */
export const accessOf = (procedure: AnyTRPCProcedure): Access => metaOf(procedure).access ?? { callers: 'the host' }

/** Throws if the caller may not call a procedure with this access. Facades check it before they read a body. */
export function assertMayCall(ctx: Context, { callers, ability, sessionOnly, sensitive }: Access): void {
  rules[callers](ctx)
  if (callers === 'administrators' && ctx.origin === 'host') return
  assertHasAbility(ctx, ability)
  if (sessionOnly && !ctx.browser) throw new Problem('session_only')
  if (sensitive) assertMayActSensitively(ctx)
}

/**
 * Throws if the caller may not do what takes over people, keys or money: a session must be fresh, and a token needs the
 * ability `admin`. Procedures declare it by their base, and resources for each of their attributes.
 */
export function assertMayActSensitively(ctx: Context): void {
  const { current } = ctx.callerContext
  if (ctx.origin === 'host') return
  if (current.type === 'user' && current.token) assertHasAbility(ctx, 'admin')
  else assertFresh(ctx)
}

/** Throws if the session is not fresh. */
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

/** Apps and programs that a person has signed in cannot administer on behalf of that person. */
export const isAdministrator = (caller: Caller) =>
  caller.type === 'user' &&
  caller.person.role === 'admin' &&
  caller.token?.appId === undefined &&
  caller.token?.grant === undefined

function assertUserType({ callerContext: { current } }: Context, allowed: readonly Caller['type'][]): void {
  if (allowed.includes(current.type)) return
  throw new Problem(current.type === 'guest' ? 'signed_out' : 'wrong_user_type')
}

/** A session has all abilities of its person. */
function assertHasAbility({ callerContext: { current } }: Context, needed: Ability | undefined): void {
  if (needed === undefined || current.type !== 'user' || !current.token || current.token.abilities.includes(needed))
    return
  const source = needed === 'admin' ? ', which only `svc token --abilities admin` on the host gives' : ''
  throw new Problem('missing_ability', { detail: `The access token lacks the ability '${needed}'${source}.` })
}

/**
 * Creates a base procedure, which checks access and raw input, narrows the type of the context, and translates database
 * errors. One middleware does it all, because each one copies context and options.
 */
function procedureFor<Known extends object = object>(
  callers: Access['callers'],
  how: Omit<Access, 'callers'> = {},
  isActing = how.ability === 'write' || how.ability === 'ai' || how.ability === 'mcp',
) {
  const access: Access = { callers, ...how }
  const isAdministrative = callers === 'administrators' || callers === 'the host'
  const runProcedure = async ({ ctx, meta, path, type, getRawInput, next }: MiddlewareOptions) => {
    using _turn = await acquireTurn(ctx, access, meta)
    assertMayCall(ctx, access)
    const input = await getRawInput()
    assertRawInput(input)
    if (isActing) await emitUserActing(ctx)
    const { current } = ctx.callerContext
    // An earlier call of the batch may have changed the caller. tRPC makes no copy of the context if nothing is passed.
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

/** Seconds after which to retry a request refused for concurrency. */
const RETRY_SECONDS = 1

/**
 * Waits while a person or app has too many concurrent requests on the database. Long calls (models, websites, files,
 * pictures) are exempt, because they have limits of their own.
 */
async function acquireTurn(ctx: Context, { ability }: Access, meta: ProcedureMeta | undefined) {
  const { current } = ctx.callerContext
  const isLong = ability === 'ai' || meta?.streams || meta?.file || meta?.waitsOutside || meta?.body === 'picture'
  if (isLong || ctx.origin === 'host' || (current.type !== 'user' && current.type !== 'external-app')) return undefined
  const key = current.type === 'user' ? `user:${current.person.id}` : `app:${current.appId}`
  try {
    return await ctx.services.limits.semaphores.person.acquire(key, ctx.signal)
  } catch (error) {
    ctx.notes.adviseRetry({ afterSeconds: RETRY_SECONDS })
    throw error
  }
}

/** Runs the `user-acting` hook, whose listeners may refuse the call. */
async function emitUserActing({ callerContext: { current }, origin, services }: Context): Promise<void> {
  if (origin === 'wire' && current.type === 'user')
    await services.process.hooks.emitSerial('user-acting', { userId: current.person.id, sql: services.sql })
}

type User = { caller: CallerOf<'user'> }
/** A caller with a browser session, which neither tokens nor the host have. */
type InBrowser = { browser: BrowserSession }

export const about = (sentence: string, answer?: z.ZodType): ProcedureMeta => ({
  about: sentence,
  ...(answer && { answer }),
})

/** Allows everybody but apps with their own credential. */
export const anyone = procedureFor('anyone')
/** Allows external apps with their own credential. */
export const externalApp = procedureFor<{ caller: CallerOf<'external-app'> }>('external apps')
export const anyoneOrApp = procedureFor('anyone, apps included')
export const user = procedureFor<User>('users')
/** Allows users whose token, if one is used, has the ability. */
export const userWith = (ability: Ability) => procedureFor<User>('users', { ability })
/** Allows the same, and external apps with their own credential. */
export const userOrAppWith = (ability: Ability) =>
  procedureFor<{ caller: CallerOf<'user' | 'external-app'> }>('users, apps included', { ability })
/** Allows users in the browser. */
export const sessionUser = procedureFor<User & InBrowser>('users', { sessionOnly: true })
/** Allows users in the browser whose session is fresh. */
export const freshSessionUser = procedureFor<User & InBrowser>('users', { sessionOnly: true, sensitive: true })
/** Allows everybody in a browser, signed in or not. */
export const browserProcedure = procedureFor<InBrowser>('anyone', { sessionOnly: true })
/** Allows signed-in people who may have no keys yet. */
export const registeringUser = procedureFor<{ caller: CallerOf<'user' | 'registering'> } & InBrowser>(
  'registering users',
  {
    sessionOnly: true,
  },
)
/** Allows administrators whose token, if one is used, has the ability, and the host. */
export const adminWith = (ability: Ability) => procedureFor('administrators', { ability })
/**
 * Allows the same callers for announcements, also while a forced one is not accepted: without its text, nobody can accept
 * it.
 */
export const announcingAdmin = procedureFor('administrators', { ability: 'write' }, false)
/** Allows administrators in the browser, and the host. */
export const adminSession = procedureFor('administrators', { sessionOnly: true })
/** Allows administrators with a fresh session or a token with the ability `admin`, and the host. */
export const sensitiveAdmin = procedureFor('administrators', { sensitive: true })
/** Allows the same; a token also needs the given ability. */
export const sensitiveAdminWith = (ability: Ability) => procedureFor('administrators', { ability, sensitive: true })
export const host = procedureFor('the host')

/** Size class of a procedure's body, named by its input; `form` is the default. Facades map it to bytes. */
export type BodySize =
  | 'form'
  | 'record'
  | 'long text'
  | 'conversation'
  | 'first keys'
  | 'room keys'
  | 'keychain'
  | 'picture'
  | 'tool call'
  | 'AI request'
  | 'AI request with files'

/** Returns the metadata that declares the size class of a procedure's body. */
export const withBodySize = (body: BodySize): { body: BodySize } => ({ body })
