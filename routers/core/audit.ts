import { randomBytes } from 'node:crypto'
import { type ChangeSet, Utils } from '@mikro-orm/core'
import type { EntityManager } from '@mikro-orm/postgresql'
import ipaddr from 'ipaddr.js'
import { appendToAudit, type NewAuditEntry } from '../../entities/events/audit-entry.sql.ts'
import type { LoggedChange } from '../../entities/events/change-log.sql.ts'
import { DAY_MS, getDayBefore } from '../ports/days.ts'
import { AuditedCall, type AuditedCallInit, isSyncCall } from './audited-call.ts'
import type { Context } from './context.ts'
import { runStatement } from './run-statement.ts'

type Input = Record<string, unknown>

/**
 * Calls in which people act on their own account and that are audited, each with a condition on its input. The input
 * itself is not recorded.
 */
const selfServiceCalls: Partial<Record<string, (input: Input) => boolean>> = {
  'accountInvitations.accept': () => true,
  'assistants.create': () => true,
  'assistants.delete': () => true,
  'assistants.handOver': () => true,
  'assistants.leave': () => true,
  'assistants.publish': () => true,
  'assistants.remix': () => true,
  'assistants.restore': () => true,
  'assistants.save': () => true,
  'assistants.setAvatar': () => true,
  'assistants.share': () => true,
  'audit.export': () => true,
  'audit.list': () => true,
  'ai.revokeApproval': () => true,
  'connections.delete': () => true,
  'extApps.endLinks': () => true,
  'extApps.establishConnection': () => true,
  'keychain.changePasskey': () => true,
  'oauth.agree': () => true,
  'oauth.endGrant': () => true,
  'ownAccount.remove': () => true,
  'passkey.renewBackup': () => true,
  'passkey.reset': () => true,
  'password.change': () => true,
  'personExports.download': () => true,
  'personExports.request': () => true,
  'registration.complete': () => true,
  'roomKeys.rekey': () => true,
  'sharedLinks.change': () => true,
  'sharedLinks.create': () => true,
  'sharedLinks.end': () => true,
  'sharedLinks.endAll': () => true,
  'sharedLinks.upload': () => true,
  'sessions.beginLogin': () => true,
  'sessions.end': () => true,
  'sessions.endOthers': () => true,
  'sessions.finishLogin': () => true,
  'sessions.login': () => true,
  'sessions.logout': () => true,
  'sessions.logoutEverywhere': () => true,
  'tokens.create': () => true,
  'tokens.revoke': () => true,
  'toolAccounts.disconnect': () => true,
  'toolAccounts.finish': () => true,
  'users.delete': () => true,
  'users.update': ({ role, disabled }) => role !== undefined || disabled !== undefined,
}

export const selfServicePaths = Object.keys(selfServiceCalls)

/**
 * Returns the audited call if the audit log records it: calls of administrators and commands, and some that people make
 * for themselves.
 */
export function startAuditedCall({ origin, operator }: Context, call: AuditedCallInit): AuditedCall | undefined {
  const isSelfServiceAudited = selfServiceCalls[call.path]
  const input = (call.input ?? {}) as Input
  const isAudited = isSelfServiceAudited ? isSelfServiceAudited(input) : call.isMutation && call.isAdministrative
  const isAutomatic = origin === 'host' && operator === undefined
  if (!isAudited || (isAutomatic && !isSyncCall(call.path))) return undefined
  return new AuditedCall({ ...call, isAutomatic })
}

/** Columns that are not recorded. */
const ignoredColumns = ['id', 'synced', 'createdAt', 'updatedAt']

type Values = Record<string, unknown>

/** Names a row by its table and id, or by the columns of its key, of which none is secret where there are several. */
function nameRow(changeSet: ChangeSet<object>): string {
  const { meta, entity } = changeSet
  const key = meta.compositePK
    ? changeSet.getSerializedPrimaryKey()?.replaceAll(Utils.PK_SEPARATOR, '/')
    : (entity as { id?: unknown }).id
  return `${meta.tableName.replaceAll('_', '-')}:${key}`
}

/** Records the rows that a transaction writes from now on, with their old and new values. */
export function recordRowWrites(em: EntityManager, call: AuditedCall): void {
  const written = { created: [] as string[], updated: {} as Values, deleted: [] as string[] }
  const observe = (changeSet: ChangeSet<object>) => {
    const { type, originalEntity = {}, payload } = changeSet
    const row = nameRow(changeSet)
    if (type === 'create') written.created.push(row)
    else if (type === 'delete') written.deleted.push(row)
    else {
      const names = Object.keys(payload).filter((name) => !ignoredColumns.includes(name))
      const read = (from: object) => Object.fromEntries(names.map((name) => [name, (from as Values)[name]]))
      if (names.length === 0) return
      written.updated[row] = { before: read(originalEntity), after: read(payload) }
    }
    call.recordChange(written)
  }
  em.getEventManager().registerSubscriber({ afterFlush: ({ uow }) => uow.getChangeSets().forEach(observe) })
}

/**
 * Adds the entry of a call to its transaction, as the last step before the commit, because adding locks the head of the
 * log. Returns the changes that administrators are notified of.
 */
export async function recordCallInTransaction(
  ctx: Context,
  em: EntityManager,
  call: AuditedCall,
): Promise<LoggedChange[]> {
  return runStatement(em, appendToAudit, [JSON.stringify([toEntry(ctx, call)])])
}

/**
 * Writes the entry of a call without a transaction: for administrators before the response is sent, otherwise after it.
 */
export async function recordCompletedCall(ctx: Context, call: AuditedCall): Promise<void> {
  if (!call.needsEntry || (await isRepeatedRead(ctx, call))) return
  const entry = toEntry(ctx, call)
  const { sql } = ctx.services
  const { audit } = ctx.services.process
  if (!call.isAdministrative) return audit.append(entry)
  await sql(appendToAudit, [JSON.stringify([entry])]).catch(() => audit.append(entry))
}

/** Reads that have one entry for each session or token and day, because a page is read in many calls. */
const pagedReads = ['audit.list']

/** True if an entry already says that this session or token has read the list today. */
async function isRepeatedRead(ctx: Context, { path }: AuditedCall): Promise<boolean> {
  const { browser, callerContext, services } = ctx
  const { current } = callerContext
  if (!pagedReads.includes(path) || current.type !== 'user') return false
  const reader = current.token ? `token:${current.token.id}` : `session:${browser?.session?.handle}`
  const day = getDayBefore(0)
  // Without the store, an entry too many is better than none.
  const isFirst = await services.stores.kv
    .setIfAbsent(`audit:read:${path}:${current.person.id}:${reader}:${day}`, '1', DAY_MS)
    .catch(() => true)
  return !isFirst
}

/** Failures that reveal password guessing; other refusals of people's own calls are not recorded. */
const signInFailures = ['login_failed', 'too_many_requests', 'wrong_password']

/** Writes after the response that a call was refused, without its input. */
export function recordRefusedCall(ctx: Context, call: AuditedCall, code: string): void {
  if (call.isAutomatic || (!call.isAdministrative && !signInFailures.includes(code))) return
  const entry = { ...toEntry(ctx, call, code), change: null }
  const network = ctx.address && anonymizeAddress(ctx.address, 'network')
  ctx.services.process.audit.appendFailure([call.path, code, entry.actor, entry.subject, network].join(' '), entry)
}

function toEntry(ctx: Context, { path, subject, change }: AuditedCall, outcome = 'ok'): NewAuditEntry {
  const actor = nameActor(ctx)
  // A removal erases the origin of the person's earlier entries, and writes its own entry after that.
  const isErased = subject === actor && change?.['erased'] !== undefined
  return {
    act: path,
    outcome,
    actor,
    subject: subject?.replace(/\p{Cc}/gu, ' ').slice(0, 200) ?? null,
    requestId: ctx.requestId.slice(0, 100),
    origin: isErased ? null : toSaltedJson(toOrigin(ctx)),
    change: toSaltedJson(change),
  }
}

/** Names the current caller; after a sign-out, the caller at the start of the call. */
function nameActor({ origin, caller, callerContext: { current } }: Context): string {
  const actor = current.type === 'guest' ? caller : current
  if (origin === 'host') return 'host'
  if (actor.type === 'user') return `user:${actor.person.id}`
  return actor.type === 'external-app' ? `app:${actor.appId}` : actor.type
}

function toOrigin({ address, operator, callerContext: { current }, services: { settings } }: Context) {
  const token = current.type === 'user' ? current.token?.id : undefined
  const shown = address && anonymizeAddress(address, settings.auditAddresses)
  return { ...(shown && { address: shown }), ...(token && { token }), ...(operator && { operator }) }
}

/** Returns the address in the form that the installation's policy allows. */
function anonymizeAddress(address: string, policy: 'full' | 'network' | 'none'): string | undefined {
  if (policy === 'none' || !ipaddr.isValid(address)) return undefined
  const parsed = ipaddr.process(address)
  if (policy === 'full') return parsed.toString()
  const bits = parsed.kind() === 'ipv4' ? 24 : 48
  const network = parsed instanceof ipaddr.IPv4 ? ipaddr.IPv4 : ipaddr.IPv6
  return `${network.networkAddressFromCIDR(`${parsed}/${bits}`)}/${bits}`
}

const MAX_JSON = 64 * 1024

/**
 * Serializes as JSON with a salt, so that nobody can find erased content by hashing guesses; returns null if there is
 * nothing.
 */
function toSaltedJson(members: object | undefined): string | null {
  if (!members || Object.keys(members).length === 0) return null
  const salt = randomBytes(16).toString('hex')
  const text = JSON.stringify({ salt, ...members })
  return text.length <= MAX_JSON ? text : JSON.stringify({ salt, isTooLong: true })
}
