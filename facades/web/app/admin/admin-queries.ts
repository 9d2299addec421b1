import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { SvcError } from '../../../client/index.ts'
import { queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { hasLabel, t } from '../shared/text/labels.ts'
import { withFreshSession } from './fresh-session.tsx'

/** All that the administration reads begins with this. */
const ROOT = 'admin'

/** The period of reading again: the streams of changes tell people of what is theirs, not of all that administrators see. */
const INTERVAL_MS = 5000

/** Reads something of the service, and again while the page is looked at; the key names it and what it depends on. */
export const useRead = <Data>(
  key: readonly unknown[],
  read: (signal: AbortSignal) => Promise<Data>,
  interval = INTERVAL_MS,
) =>
  useQuery<Data>({
    queryKey: [ROOT, ...key],
    queryFn: ({ signal }) => withFreshSession(() => read(signal)),
    // While another page of a list is read, the one before stays.
    refetchInterval: interval,
    placeholderData: keepPreviousData as never,
  })

/** Changes something, if need be after signing in again; what is shown is then read anew. */
export async function write<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await withFreshSession(call)
  } catch (error) {
    throw withReason(error)
  } finally {
    await refresh()
  }
}

const refresh = () => queryClient.invalidateQueries({ queryKey: [ROOT] })

/** Administrators are told what the service says of their input: it names members and files as they write them. */
export function withReason(error: unknown): unknown {
  if (!(error instanceof SvcError) || error.status === undefined || error.status >= 500) return error
  if (hasLabel(`app.error.${error.code}`) && !/^(invalid|conflict|not_found)$/.test(error.code)) return error
  const issues = error.issues.map(({ path, message }) => [path.join('.'), message].filter(Boolean).join(' '))
  return new InputError(t('app.admin.refused', { reason: issues.length > 0 ? issues.join('; ') : error.message }))
}
