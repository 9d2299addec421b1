import { SvcError } from '../../../../client/index.ts'
import { KeyStoreFailure } from '../../../browser/keystore.ts'
import { formatTimeWithSeconds } from '../text/formats.ts'
import { hasLabel, t } from '../text/labels.ts'

/** An error whose message is written for people. */
export class InputError extends Error {}

/** Returns a text for the error in the language of the page. The messages of the service are in English. */
export function describeError(error: unknown): string {
  if (error instanceof InputError) return error.message
  if (error instanceof KeyStoreFailure) return t('page.keystore.damaged')
  if (isFailedImport(error)) return t('app.error.unreachable')
  if (!(error instanceof SvcError)) return t('page.error')
  const field = error.issues[0]?.path.at(-1)
  const untilKey = `app.error.${error.code}.until`
  if (error.retryAt && hasLabel(untilKey)) return t(untilKey, { time: formatTimeWithSeconds(error.retryAt) })
  const keys = [
    ...(isTooLong(error) ? ['app.error.context_length_exceeded'] : []),
    `app.error.field.${field}`,
    `app.error.${error.code}`,
    `page.error.${error.code}`,
    `app.error.status${error.status}`,
  ]
  return t(keys.find(hasLabel) ?? 'page.error')
}

/** Recognizes the messages with which browsers and the bundle report that a chunk could not be loaded. */
const isFailedImport = (error: unknown): boolean =>
  error instanceof Error &&
  /dynamically imported module|importing a module script failed|unable to preload css/i.test(error.message)

export const isNotFound = (error: unknown): boolean => error instanceof SvcError && error.code === 'not_found'

/** Returns true if there is no room for more. */
export const isOverQuota = (error: unknown): boolean => error instanceof SvcError && error.code === 'quota_reached'

/** Returns true if a model was asked to read more than it can, by the service's estimate or the provider's word. */
const isTooLong = (error: unknown): boolean =>
  error instanceof SvcError &&
  (error.code === 'context_length_exceeded' || error.issues.some(({ reason }) => reason === 'too_long'))

/** Returns true if what was sent is too long: for the model, or for one request to the service. */
export const isSentTooLong = (error: unknown): boolean =>
  isTooLong(error) || (error instanceof SvcError && error.code === 'too_large')

/** Tells a rate limit, which passes by itself, from a failure. */
export const isRateLimited = (error: unknown): boolean => error instanceof SvcError && error.status === 429

/** Returns the id by which the request is found in the log of the service. */
export const getRequestId = (error: unknown): string | undefined =>
  error instanceof SvcError ? error.requestId : undefined
