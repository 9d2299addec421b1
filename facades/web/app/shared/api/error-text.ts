import { SvcError } from '../../../../client/index.ts'
import { hasLabel, t } from '../text/labels.ts'

/** An error with a text of its own for people. */
export class InputError extends Error {}

/** The text for an error in the language of the page, with what to do; the service's own sentences are in English. */
export function describeError(error: unknown): string {
  if (error instanceof InputError) return error.message
  if (isFailedImport(error)) return t('app.error.unreachable')
  if (!(error instanceof SvcError)) return t('page.error')
  const field = error.issues[0]?.path.at(-1)
  const keys = [
    `app.error.field.${field}`,
    `app.error.${error.code}`,
    `page.error.${error.code}`,
    `app.error.status${error.status}`,
  ]
  return t(keys.find(hasLabel) ?? 'page.error')
}

/** Browsers, and what was built, say in words of their own that a file of the page did not come. */
const isFailedImport = (error: unknown): boolean =>
  error instanceof Error &&
  /dynamically imported module|importing a module script failed|unable to preload css/i.test(error.message)

export const isNotFound = (error: unknown): boolean => error instanceof SvcError && error.code === 'not_found'

/** Tells a refusal that passes by itself, as of a limit, from a failure. */
export const isRateLimited = (error: unknown): boolean => error instanceof SvcError && error.status === 429

/** Names a request in the log of the service, for whoever helps. */
export const getRequestId = (error: unknown): string | undefined =>
  error instanceof SvcError ? error.requestId : undefined
