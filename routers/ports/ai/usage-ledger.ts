import type { UsageCommit } from '../../../entities/ai/usage-commit.sql.ts'
import type { LimitSubject, LimitUnit } from '../../../entities/ai/usage-limit.ts'
import type { UsageContext, UsageCounts } from '../../../entities/ai/usage-record.ts'
import type { RequestedLimit } from '../../../entities/ai/usage-reservation.sql.ts'

/** Data about a model call before it is made. */
export interface UsageCall {
  userId: number
  tokenId: number | null
  /** The room in which it is asked, if any. */
  roomId: number | null
  /** The external app whose token asks, if any. */
  appId: number | null
  context: UsageContext
  provider: string
  model: string
  /** The assistant that was asked, with its version, if any. */
  assistant: string | null
  requestId: string
  inputTokens: number
  /** Cost of the input in millionths of the currency; null if no price is known. */
  costMicros: number | null
  currency: string | null
  /** The version of the price. */
  priceId: number | null
}

/** A subject whose limits count a call: its kind, and its id or name. */
export type SubjectId = readonly [subject: LimitSubject, id: string]

/** A call with the subjects whose limits count it, and its largest possible usage. */
export interface ReserveRequest {
  /** Catalogue version of the cached model; null if the model was read for this call. */
  catalogue: number | null
  call: UsageCall
  subjects: readonly SubjectId[]
  /** Null if unknown. */
  tokens: number | null
  /** Millionths of the currency; null if the price or the usage is unknown. */
  costMicros: number | null
  currency: string | null
  /** The reservation of a call without usage that this one replaces; it stays if this one is refused or fails. */
  replaces?: Reservation | undefined
  /** Names what the person has reserved for this call, which takes its place if it is still there. */
  ticket?: string | undefined
}

/** Writes the ticket of a reservation for a later call. */
export const writeTicket = ({ id, ticket }: { id: number; ticket: string }): string => `${id}.${ticket}`

/** The form of tickets, which other texts do not have. */
export const TICKET = /^\d{1,15}\.[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** Reads what `writeTicket` wrote. */
export function readTicket(written: string): { id: number; ticket: string } {
  const [id, ticket = ''] = written.split('.')
  return { id: Number(id), ticket }
}

/** A call in progress with its row in the database. */
export interface Reservation {
  readonly id: number
  /** The counters on which it is reserved. */
  readonly counters: readonly number[]
  /** True if a limit in tokens or money is enforced, so that the answer must end with the reservation. */
  readonly isEnforced: boolean
  /** Amounts reserved of limits in tokens and in money. */
  reserved: ReservedAmounts
  /** The limits that apply, as they were before this call and concurrent ones. */
  readonly limits: readonly RequestedLimit[]
  /** Returns the usage so far, counted by the caller of the model. */
  progress: () => CallProgress
}

export interface ReservedAmounts {
  /** Null if no limit in tokens or money applies, or only observing ones and the maximum is unknown. */
  tokens: number | null
  /** Millionths of the currency; null if no limit in money counts the call's cost. */
  costMicros: number | null
}

/** The usage so far, which is billed if this process dies, and the largest possible usage. */
export interface CallProgress extends UsageCounts {
  costMicros: number | null
  currency: string | null
  max: ReservedAmounts
}

/** Remaining amount of a limit in the current period. */
export interface LimitLeft {
  name: string
  unit: LimitUnit
  currency: string | null
  /** In requests, tokens or millionths of the currency. */
  cap: number
  left: number
  windowSeconds: number
  /** Milliseconds since 1970. */
  resetsAt: number
}

/** Returned if a limit has too little left for a call. */
export class QuotaExceeded {
  /** Every limit that applies, including those with enough left. */
  readonly limits: readonly RequestedLimit[]

  constructor(limits: readonly RequestedLimit[]) {
    this.limits = limits
  }
}

export const hasRoom = ({ amount, used, held, cap }: RequestedLimit): boolean =>
  amount !== null && used + held + amount <= cap

/**
 * Accounts for the usage of model calls. The largest possible usage is reserved before a call, and the actual usage is
 * committed after it; another process commits calls of a failed one.
 */
export interface UsageLedger {
  /** Reserves a call. Throws `CatalogueOutdated` if the cached model may be outdated. */
  reserve(request: ReserveRequest): Promise<Reservation | QuotaExceeded>
  /**
   * Reserves for calls that a person will make at once, for all of them or for none, and returns their tickets. What the
   * person has reserved before for calls that were not made is released first; an unused ticket ends within a minute.
   */
  reserveTogether(requests: readonly ReserveRequest[]): Promise<string[] | QuotaExceeded>
  /**
   * Extends the reservation to a total for a further round; `gone` if another process has committed the call as lost.
   */
  extend(reservation: Reservation, amounts: ReservedAmounts): Promise<'extended' | 'gone' | QuotaExceeded>
  /** Commits in the background, many calls in one statement. */
  commit(reservation: Reservation, end: Omit<UsageCommit, 'id' | 'expiredOnly'>): void
  /** Waits until all ended calls are committed. */
  flush(): Promise<void>
}
