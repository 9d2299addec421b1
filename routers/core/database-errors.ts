import { Problem } from './problems.ts'

/** Error codes of the system for lost or failed connections. */
const networkCodes = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTDOWN|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN)$/

/** SQLSTATE codes if PostgreSQL is unavailable: no connection, no resources, shutdown, standby, deadlock. */
const sqlStates = /^(08\w{3}|53\w{3}|57P0\d|25006|40P01)$/

/** SQLSTATE codes of timeouts: for a lock, a statement or an idle transaction. */
const timeoutStates = /^(55P03|57014|25P03)$/

/** Messages of the driver and its pool that have no code. */
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

/** Returns a problem if the database is unavailable or the client has disconnected; otherwise the failure itself. */
export function translateDatabaseError<T>(failure: T): T | Problem {
  if (failure instanceof Problem) return failure
  if (isBrokenRequest(failure)) return new Problem('client_gone', { cause: failure })
  if (isTimeout(failure)) return new Problem('busy', { cause: failure })
  return isOutage(failure) ? new Problem('unavailable', { cause: failure }) : failure
}

export const isUnavailable = (failure: unknown) => failure instanceof Problem && failure.problem === 'unavailable'

/** Node.js reports an aborted request body with the same code as a lost database connection. */
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
