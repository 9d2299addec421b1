import type { UsageCommit } from '../../../entities/ai/usage-commit.sql.ts'
import type { LimitSubject, LimitUnit } from '../../../entities/ai/usage-limit.ts'
import type { UsageContext, UsageCounts } from '../../../entities/ai/usage-record.ts'
import type { RequestedLimit } from '../../../entities/ai/usage-reservation.sql.ts'

/** What is known of a call of a model before it is made. */
export interface UsageCall {
  userId: number
  tokenId: number | null
  /** Where it is asked for, if in a room. */
  roomId: number | null
  /** Whose token asks, if an external app holds it. */
  appId: number | null
  context: UsageContext
  provider: string
  model: string
  requestId: string
  inputTokens: number
  /** What the input costs, in millionths of the currency; null where no price is known. */
  costMicros: number | null
  currency: string | null
  /** The version of the price. */
  priceId: number | null
}

/** One of those whose limits a call counts for: its kind, and its id or name. */
export type SubjectId = readonly [subject: LimitSubject, id: string]

/** A call, whose limits it counts for, and the most that it can take. */
export interface ReserveRequest {
  /** The version of the catalogue in which its model was seen; null where it was looked up for this call. */
  catalogue: number | null
  call: UsageCall
  subjects: readonly SubjectId[]
  /** Null where nobody knows. */
  tokens: number | null
  /** Millionths of the currency; null where the price or the number of what is paid is not known. */
  costMicros: number | null
  currency: string | null
  /** The reservation of a call that took nothing, which this one takes the place of; where this one is refused or fails, it stays. */
  replaces?: Reservation | undefined
}

/** A call under way, of which the database knows. */
export interface Reservation {
  readonly id: number
  /** The counters of which it reserves a part. */
  readonly counters: readonly number[]
  /** Whether a limit in tokens or money is enforced, and does not only observe: where the reservation ends, the answer must. */
  readonly isEnforced: boolean
  /** How much is reserved of limits in tokens and in money. */
  reserved: ReservedAmounts
  /** The limits that apply, as they stood before this call and those of the same moment. */
  readonly limits: readonly RequestedLimit[]
  /** As whoever makes the call counts it. */
  progress: () => CallProgress
}

export interface ReservedAmounts {
  /** Null where no limit in tokens or money applies, or only such as observe and the most is not known. */
  tokens: number | null
  /** Millionths of the currency; null where no limit in money counts the call by its cost. */
  costMicros: number | null
}

/** What a call took so far, which is the bill if this process dies, and the most that it can take in the end. */
export interface CallProgress extends UsageCounts {
  costMicros: number | null
  currency: string | null
  max: ReservedAmounts
}

/** What is left of a limit in the running period. */
export interface LimitLeft {
  name: string
  unit: LimitUnit
  currency: string | null
  /** In requests, tokens or millionths of the currency. */
  cap: number
  left: number
  windowSeconds: number
  /** In milliseconds since 1970. */
  resetsAt: number
}

/** A call of which a limit has no room for all that it can take. */
export class QuotaExceeded {
  /** Each limit that applies, also those that have room. */
  readonly limits: readonly RequestedLimit[]

  constructor(limits: readonly RequestedLimit[]) {
    this.limits = limits
  }
}

export const hasRoom = ({ amount, used, held, cap }: RequestedLimit): boolean =>
  amount !== null && used + held + amount <= cap

/**
 * The account of what calls of models take. What a call can take at most is reserved in the database before it is made, and
 * committed when it has ended; a call whose process is gone is committed by another one.
 */
export interface UsageLedger {
  /** Throws `Outdated` where the model or the caller may be another one by now. */
  reserve(request: ReserveRequest): Promise<Reservation | QuotaExceeded>
  /** Reserves as much in all as a further round can take. It is gone where another process took the call for lost. */
  extend(reservation: Reservation, amounts: ReservedAmounts): Promise<'extended' | 'gone' | QuotaExceeded>
  /** Commits behind the answer, many calls in one statement. */
  commit(reservation: Reservation, end: Omit<UsageCommit, 'id' | 'expiredOnly'>): void
  /** Waits until all that ended is in the database. */
  flush(): Promise<void>
}
