import { createHash, randomUUID } from 'node:crypto'
import type { Caller } from './caller.ts'
import type { Context } from './context.ts'
import { Problem } from './problems.ts'

/** A response that is sent and stored for retries. */
export interface StoredResponse {
  status: number
  headers: Record<string, string>
  payload: string
}

/** The stored part of a response; a large body is dropped, and so is one beyond the person's quota. */
type RetainedResponse = Omit<StoredResponse, 'payload'> & {
  payload?: string
  /** A hash of the file that came with the request. */
  file?: string
}

interface StoredExecution {
  /** A hash of the request; a different hash under the same key means a different request. */
  fingerprint: string
  /** Identifies the one request that is in progress. */
  attempt?: string
  /** Sealed; absent while the first request is in progress. */
  sent?: string
}

/** Lease of a key, which is renewed during the request and expires if the process dies. */
const LEASE_MS = 10_000
const RENEWAL_MS = LEASE_MS / 4
const RETENTION_MS = 24 * 60 * 60_000
const PURPOSE = 'idempotency'

export interface IdempotentRequest {
  key: string
  /** Identifies the request: method, address and body. */
  request: string
  /** Reads the attached file to its end, and returns its hash. */
  hashFile?: () => Promise<string>
  /** Body of a replayed response whose body was not stored. */
  bodyNotKept: string
}

/** Runs a request once per caller and key; a retry gets the first response, on any replica. */
export async function runOnce(
  ctx: Context,
  { key, request, bodyNotKept, hashFile }: IdempotentRequest,
  run: () => Promise<StoredResponse>,
): Promise<StoredResponse> {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) throw new Problem('idempotency_key')
  const caller = findKeyOwner(ctx)
  // Guests share one identity, so a key of one could return the response of another.
  if (!caller) return run()
  const storeKey = `idempotency:${digest(`${caller.name} ${key}`)}`
  const fingerprint = digest(request)
  const claimValue = JSON.stringify({ fingerprint, attempt: randomUUID() } satisfies StoredExecution)
  const claim: Claim = { storeKey, fingerprint, claimValue, owner: caller.owner, hashFile }
  const stored = await claimOrReplay(ctx, claim)
  if (!stored) return runFirst(ctx, claim, run)
  const { file, ...response } = stored
  if (hashFile && (await hashFile()) !== file) throw createConflict('This key was used for another file.')
  return { payload: bodyNotKept, ...response }
}

/** Claims the key; returns the stored response, or undefined if this is the first request with the key. */
async function claimOrReplay(
  { services }: Context,
  { storeKey, fingerprint, claimValue }: Claim,
): Promise<RetainedResponse | undefined> {
  // The first request may fail and delete its entry between the two look-ups; then this one becomes the first.
  for (;;) {
    const isFirst = await services.stores.answers.setIfAbsent(storeKey, claimValue, LEASE_MS).catch(refuseWithoutStore)
    if (isFirst) return undefined
    const text = await services.stores.answers.get(storeKey).catch(refuseWithoutStore)
    if (text === undefined) continue
    const execution = JSON.parse(text) as StoredExecution
    if (execution.fingerprint !== fingerprint) throw createConflict('This key was used for another request.')
    if (!execution.sent) throw createConflict('The first request with this key is still under way.')
    return JSON.parse(services.vault.open(execution.sent, PURPOSE)) as RetainedResponse
  }
}

/** Refuses the request while the store is down, because it is unknown whether this is a repeat. */
function refuseWithoutStore(cause: unknown): never {
  throw new Problem('unavailable', { cause })
}

interface Claim {
  storeKey: string
  fingerprint: string
  /** The value stored under the key while the request is in progress; it is unique to the request. */
  claimValue: string
  /** The owner whose quota it counts against. */
  owner: string
  hashFile: IdempotentRequest['hashFile']
}

async function runFirst(ctx: Context, claim: Claim, run: () => Promise<StoredResponse>): Promise<StoredResponse> {
  const { log } = ctx.services
  const { answers } = ctx.services.stores
  // A failed request changed nothing, so the key is released for another try.
  const release = async (error: unknown): Promise<never> => {
    await answers
      .deleteIfUnchanged(claim.storeKey, claim.claimValue)
      // The lease ends by itself, and the caller needs the error of their request.
      .catch((storeError: unknown) => log.warn({ error: storeError }, 'an idempotency key could not be released'))
    throw error
  }
  await consumeKeyQuota(ctx, claim.owner).catch(release)
  const response = await withLeaseRenewal(ctx, claim, run).catch(async (error: unknown) => {
    await refundKeyQuota(ctx, claim.owner).catch((refundError: unknown) =>
      log.warn({ error: refundError }, 'the quota of an idempotency key could not be refunded'),
    )
    return release(error)
  })
  // The request succeeded; failing to store its answer must not make it fail.
  await storeResponse(ctx, claim, response).catch((error: unknown) =>
    log.warn({ error }, 'a response could not be stored for retries'),
  )
  return response
}

/** Renews the lease of the key while the request runs. The lease may expire if the store is unavailable. */
async function withLeaseRenewal<T>({ services }: Context, { storeKey, claimValue }: Claim, run: () => Promise<T>) {
  const renew = () =>
    void services.stores.answers.replaceIfUnchanged(storeKey, claimValue, claimValue, LEASE_MS).catch(() => {})
  const timer = setInterval(renew, RENEWAL_MS)
  try {
    return await run()
  } finally {
    clearInterval(timer)
  }
}

async function storeResponse(
  ctx: Context,
  { storeKey, fingerprint, claimValue, owner, hashFile }: Claim,
  response: StoredResponse,
): Promise<void> {
  const { status, headers, payload } = response
  const { location } = headers
  const withoutBody: RetainedResponse = { status, headers: location === undefined ? {} : { location } }
  const stored: RetainedResponse = (await consumeByteQuota(ctx, owner, payload)) ? { ...response } : withoutBody
  if (hashFile) stored.file = await hashFile()
  const execution: StoredExecution = { fingerprint, sent: ctx.services.vault.seal(JSON.stringify(stored), PURPOSE) }
  await ctx.services.stores.answers.replaceIfUnchanged(storeKey, claimValue, JSON.stringify(execution), RETENTION_MS)
}

const createConflict = (detail: string) => new Problem('idempotency_conflict', { detail })

const digest = (text: string) => createHash('sha256').update(text).digest('base64url')

interface KeyOwner {
  /** A token may have fewer rights than its person, so it gets none of their other responses. */
  name: string
  /** All tokens of a person share one quota. */
  owner: string
}

function findKeyOwner({ callerContext: { current } }: Context): KeyOwner | undefined {
  const owner = nameOwner(current)
  if (owner === undefined) return undefined
  return { owner, name: current.type === 'user' ? `${owner} ${current.token?.id ?? ''}` : owner }
}

function nameOwner(caller: Caller): string | undefined {
  if (caller.type === 'user') return `user ${caller.person.id}`
  if (caller.type === 'external-app') return `app ${caller.appId}`
  return caller.type === 'registering' ? `registering ${digest(caller.username)}` : undefined
}

const DAY_SECONDS = 24 * 60 * 60

/** Characters of a stored body; most resources need less than a tenth. */
const MAX_PAYLOAD = 16 * 1024
/** Per person and day: keys, and characters of stored bodies. */
const MAX_KEYS = 5000
const MAX_KEPT = 2 * 1024 * 1024

/** Refuses the request before it runs if its key could not be remembered for a day. */
async function consumeKeyQuota({ services, notes }: Context, owner: string): Promise<void> {
  const allowance = await services.limits.limiter.consume(buildQuotaKey(owner), MAX_KEYS, DAY_SECONDS)
  if (allowance.remaining >= 0) return
  notes.setRateLimit(allowance)
  throw new Problem('too_many_requests', { detail: `At most ${MAX_KEYS} idempotency keys are kept for you in a day.` })
}

const refundKeyQuota = ({ services }: Context, owner: string): Promise<void> =>
  services.limits.limiter.refund(buildQuotaKey(owner), MAX_KEYS, DAY_SECONDS)

/** Returns true if the body of the response may be stored, and counts it. */
async function consumeByteQuota({ services }: Context, owner: string, payload: string): Promise<boolean> {
  if (payload.length > MAX_PAYLOAD) return false
  const allowance = await services.limits.limiter.consume(
    `idempotency:kept:${owner}`,
    MAX_KEPT,
    DAY_SECONDS,
    payload.length,
  )
  return allowance.remaining >= 0
}

const buildQuotaKey = (owner: string) => `idempotency:keys:${owner}`
