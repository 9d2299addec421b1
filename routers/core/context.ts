import type { EntityManager } from '@mikro-orm/postgresql'
import type { UsageType } from '../../entities/sql/columns.ts'
import type { BrowserSession } from '../ports/session.ts'
import type { AuditedCall } from './audited-call.ts'
import type { Caller } from './caller.ts'
import type { HookRegistry, ResponseHints, TypeChangeCause } from './hooks.ts'
import { Problem } from './problems.ts'
import type { Services } from './services.ts'

/** Holds the caller of one request. Each change of user type is announced at once. */
class CallerContext {
  #caller: Caller
  readonly #hooks: HookRegistry
  readonly #hints: ResponseHints

  constructor(hooks: HookRegistry, hints: ResponseHints, caller: Caller = { type: 'guest' }) {
    this.#hooks = hooks
    this.#hints = hints
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
    this.#hooks.emit('user-type-changed', { cause, from: from.type, to: to.type, userId, hints: this.#hints })
  }
}

/** What is known of one call before it is handled. */
export interface CallDetails {
  caller?: Caller | undefined
  /** Set where the call itself makes a guest the caller, of which the hooks are told. */
  cause?: TypeChangeCause | undefined
  usage?: UsageType | undefined
  /** Host access is where a call comes from, not a kind of user: no request can ask for it. */
  origin?: 'wire' | 'host' | undefined
  /** Who of the system of the host gives a command; nobody where the service calls for itself. */
  operator?: string | undefined
  /** The network address that calls. */
  address?: string | undefined
  requestId: string
  /** Where a browser calls with its session, or could begin one. */
  browser?: BrowserSession | undefined
  /** The default one where nothing says which. */
  locale?: string | undefined
  /** Ends when the caller goes away; made when first asked for, as most calls are over before anybody asks. */
  signal?: (() => AbortSignal) | undefined
  /** Ends the connection of the caller, who does not read what is sent. */
  hangUp?: (() => void) | undefined
  /** Ends it only where something of the answer is still to be taken. */
  hangUpUnread?: (() => void) | undefined
}

export interface IncomingFile {
  /** As the bytes arrive. */
  content: AsyncIterable<Uint8Array>
  /** The announced size of all that is sent, a little more than the file's; 0 where nobody said. */
  announced: number
}

export interface Context {
  /** What the process gives, but its entity manager, which sees every row. */
  services: Omit<Services, 'em'>
  /** The entity manager of this call, made when first needed and set to the rows its caller may see. */
  em(): EntityManager
  /** Who is calling now, which a login, a registration and a logout change. */
  callerContext: CallerContext
  /** Who was calling when the call began; base procedures narrow its type. */
  readonly caller: Caller
  usage: UsageType
  origin: 'wire' | 'host'
  operator: string | undefined
  address: string | undefined
  /** The call under way, where the audit log tells of it. */
  auditedCall: AuditedCall | undefined
  requestId: string
  locale: string
  signal(): AbortSignal
  hangUp(): void
  hangUpUnread(): void
  browser: BrowserSession | undefined
  /** The file that comes with the input, set by the facade. */
  file: IncomingFile | undefined
  /** Whether the caller wants an attribute that is sent on demand, set by the facade. */
  isRequested(type: string, attribute: string): boolean
  /** What a facade tells beside the result. */
  hints: ResponseHints
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
  } = call
  const { locale = services.settings.defaultLocale } = call
  const hints: ResponseHints = {}
  const callerContext = new CallerContext(services.hooks, hints, cause ? undefined : caller)
  if (caller && cause) callerContext.setCaller(caller, cause)
  let own: EntityManager | undefined
  return {
    services,
    em: () => (own ??= forkForCaller(services.em, callerContext.current, origin)),
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
    browser,
    file: undefined,
    isRequested: () => false,
    hints,
  }
}

/** Without a viewer, which a guest is not, every scoped query throws. */
function forkForCaller(em: EntityManager, caller: Caller, origin: CallDetails['origin']): EntityManager {
  const fork = em.fork()
  const viewer = origin === 'host' ? 'host' : caller.type === 'user' ? caller.person.id : undefined
  if (viewer !== undefined) fork.setFilterParams('own', { viewer })
  return fork
}

/** By what somebody calls who is signed in: `token:{id}` or `session:{hash}`. The host has neither. */
export function findCredential({ callerContext: { current }, browser }: Context): string | undefined {
  if (current.type === 'user' && current.token) return `token:${current.token.id}`
  return browser?.session && `session:${browser.session.handle}`
}

export function requireCredential(ctx: Context): string {
  const credential = findCredential(ctx)
  if (credential === undefined) throw new Problem('signed_out')
  return credential
}

/** Who does something, as the log tells it: `host`, `user:{id}` or `app:{id}`, and by which token if by one. */
export function describeActor({ origin, requestId, callerContext: { current } }: Context) {
  if (origin === 'host') return { requestId, by: 'host' }
  if (current.type === 'user') return { requestId, by: `user:${current.person.id}`, byToken: current.token?.id }
  return { requestId, by: current.type === 'external-app' ? `app:${current.appId}` : current.type }
}
