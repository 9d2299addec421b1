import { Problem } from './problems.ts'

/** What the system says where there is no connection to be had, or one is lost. */
const networkCodes = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTDOWN|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/

/** What PostgreSQL says where it cannot serve now: no connection, no resources, a shutdown, a standby, a deadlock that it ended. */
const sqlStates = /^(08\w{3}|53\w{3}|57P0\d|25006|40P01)$/

/** What PostgreSQL says where something took longer than a request may wait: for a lock, in a statement, between two of them. */
const timeoutStates = /^(55P03|57014|25P03)$/

/** What the driver and its pool say without a code. */
const driverMessages = new RegExp(
  [
    '^Connection terminated',
    '^timeout exceeded when trying to connect',
    '^timeout expired',
    '^Query read timeout',
    'not queryable$',
    '^Cannot use a pool after calling end',
  ].join('|'),
)

/** The problem that the database is out of reach, or the caller, where that is why something failed; else the failure as it came. */
export function translateDatabaseError<T>(failure: T): T | Problem {
  if (failure instanceof Problem) return failure
  if (isBrokenRequest(failure)) return new Problem('client_gone', { cause: failure })
  if (isTimeout(failure)) return new Problem('busy', { cause: failure })
  return isOutage(failure) ? new Problem('unavailable', { cause: failure }) : failure
}

export const isUnavailable = (failure: unknown) => failure instanceof Problem && failure.problem === 'unavailable'

/** What Node.js says of a body whose sender goes away, by the code that a lost connection to the database has, too. */
const isBrokenRequest = (error: unknown): boolean =>
  error instanceof Error &&
  ((error.message === 'aborted' && (error as { code?: unknown }).code === 'ECONNRESET') || isBrokenRequest(error.cause))

const isTimeout = (error: unknown): boolean =>
  error instanceof Error && (timeoutStates.test(String((error as { code?: unknown }).code)) || isTimeout(error.cause))

function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const { code, message, cause } = error as { code?: unknown; message: string; cause?: unknown }
  const word = typeof code === 'string' ? code : ''
  return networkCodes.test(word) || sqlStates.test(word) || driverMessages.test(message) || isOutage(cause)
}
