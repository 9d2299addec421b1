import type { EntityManager } from '@mikro-orm/postgresql'
import type { UsageType } from '../../entities/sql/columns.ts'
import { sessionCredential, tokenCredential } from '../ports/credential-watch.ts'
import type { BrowserSession } from '../ports/session.ts'
import type { AuditedCall } from './audited-call.ts'
import type { Caller } from './caller.ts'
import type { HookRegistry, TypeChangeCause } from './hooks.ts'
import { Problem } from './problems.ts'
import { ResponseNotes } from './response-notes.ts'
import type { Services } from './services.ts'

/** Holds the caller of one request, and announces each change of the user type at once. */
class CallerContext {
  #caller: Caller
  readonly #hooks: HookRegistry
  readonly #notes: ResponseNotes

  constructor(hooks: HookRegistry, notes: ResponseNotes, caller: Caller = { type: 'guest' }) {
    this.#hooks = hooks
    this.#notes = notes
    this.#caller = caller
  }

  get current(): Caller {
    return this.#caller
  }

  setCaller(to: Caller, cause: TypeChangeCause): void {
    const from = this.#caller
    this.#caller = to
    const userId = [to, from].find((caller) => caller.type === 'user')?.person.id
    if (from.type === to.type) return
    this.#hooks.emit('user-type-changed', { cause, from: from.type, to: to.type, userId, notes: this.#notes })
  }
}

/** Details of a call before it is handled. */
export interface CallDetails {
  caller?: Caller | undefined
  /** Set if the call itself authenticates a guest; the hooks are then run. */
  cause?: TypeChangeCause | undefined
  usage?: UsageType | undefined
  /** Host access depends on where a call comes from, so no request can obtain it. */
  origin?: 'wire' | 'host' | undefined
  /** The operating-system user who runs a command; absent if the service calls on its own. */
  operator?: string | undefined
  /** The network address of the caller. */
  address?: string | undefined
  requestId: string
  /** The browser, if one calls with a session or could start one. */
  browser?: BrowserSession | undefined
  /** The default locale if absent. */
  locale?: string | undefined
  /** Aborts when the caller disconnects; created lazily, because most calls never need it. */
  signal?: (() => AbortSignal) | undefined
  /** Closes the connection of a caller who does not read the response. */
  hangUp?: (() => void) | undefined
  /** Closes the connection only if part of the response is still unread. */
  hangUpUnread?: (() => void) | undefined
  watchUnread?: ((ms: number, onUnread: () => void) => void) | undefined
}

export interface IncomingFile {
  /** The bytes as they arrive. */
  content: AsyncIterable<Uint8Array>
  /** The announced size of the whole body, slightly more than the file; 0 if unknown. */
  announced: number
}

/** Options that a facade passes to one call beside its input. */
export interface CallOptions {
  /** The file that comes with the input. */
  file: IncomingFile | undefined
  /** Returns true if the caller requests an attribute that is sent on demand. */
  isRequested(type: string, attribute: string): boolean
}

export interface Context extends Readonly<CallOptions> {
  /** Services of the process, except its entity manager, which sees every row. */
  services: Omit<Services, 'em'>
  /** Returns the entity manager of this call, created lazily and restricted to rows that the caller may see. */
  em(): EntityManager
  /** The current caller, which a login, a registration or a logout changes. */
  callerContext: CallerContext
  /** The caller when the call began; base procedures narrow its type. */
  readonly caller: Caller
  usage: UsageType
  origin: 'wire' | 'host'
  operator: string | undefined
  address: string | undefined
  /** The audited call, if the audit log records it. */
  auditedCall: AuditedCall | undefined
  requestId: string
  locale: string
  signal(): AbortSignal
  hangUp(): void
  hangUpUnread(): void
  /** Calls the function and closes the connection if the client takes nothing of a pending response for so long. */
  watchUnread(ms: number, onUnread: () => void): void
  browser: BrowserSession | undefined
  notes: ResponseNotes
}

const { signal: never } = new AbortController()

export function createContext(services: Services, call: CallDetails): Context {
  const {
    caller,
    cause,
    usage = 'main',
    origin = 'wire',
    operator,
    address,
    requestId,
    browser,
    signal = () => never,
    hangUp = () => {},
    hangUpUnread = () => {},
    watchUnread = () => {},
  } = call
  const { locale = services.settings.defaultLocale } = call
  const notes = new ResponseNotes()
  const callerContext = new CallerContext(services.process.hooks, notes, cause ? undefined : caller)
  if (caller && cause) callerContext.setCaller(caller, cause)
  let scopedManager: EntityManager | undefined
  return {
    services,
    em: () => (scopedManager ??= forkForCaller(services.em, callerContext.current, origin)),
    callerContext,
    caller: callerContext.current,
    usage,
    origin,
    operator,
    address,
    auditedCall: undefined,
    requestId,
    locale,
    signal,
    hangUp,
    hangUpUnread,
    watchUnread,
    browser,
    file: undefined,
    isRequested: () => false,
    notes,
  }
}

/** Returns the context for one call with options. */
export const withCallOptions = (ctx: Context, options: Partial<CallOptions>): Context => ({ ...ctx, ...options })

/** Every query with a scope throws if there is no viewer, as for a guest. */
function forkForCaller(em: EntityManager, caller: Caller, origin: CallDetails['origin']): EntityManager {
  const fork = em.fork()
  if (origin === 'host') fork.setFilterParams('own', { viewer: 'host' })
  else if (caller.type === 'user') fork.setFilterParams('own', { viewer: caller.person.id })
  return fork
}

/** Returns the credential of the caller: `token:{id}` or `session:{hash}`. The host has neither. */
export function findCredential({ callerContext: { current }, browser }: Context): string | undefined {
  if (current.type === 'user' && current.token) return tokenCredential(current.token.id)
  return browser?.session && sessionCredential(browser.session.handle)
}

export function requireCredential(ctx: Context): string {
  const credential = findCredential(ctx)
  if (credential === undefined) throw new Problem('signed_out')
  return credential
}

/** Describes the actor for the log: `host`, `user:{id}` or `app:{id}`, with the id of the token if one was used. */
export function describeActor({ origin, requestId, callerContext: { current } }: Context) {
  if (origin === 'host') return { requestId, by: 'host' }
  if (current.type === 'user') return { requestId, by: `user:${current.person.id}`, byToken: current.token?.id }
  return { requestId, by: current.type === 'external-app' ? `app:${current.appId}` : current.type }
}
