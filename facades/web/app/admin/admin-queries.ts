import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { SvcError } from '../../../client/index.ts'
import { queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { ChangeQueue } from '../shared/change-queue.ts'
import { withFreshSession } from '../shared/fresh-session.tsx'
import { followChanges } from '../shared/live.ts'
import { hasLabel } from '../shared/text/labels.ts'
import { describeRefusal } from './refusal-texts.ts'

/** The first element of the query keys of records, whose changes a stream reports. */
const RECORDS = 'admin records'
/** The first element of the query keys of figures, which change with every call and have no stream. */
const FIGURES = 'admin figures'

export const MINUTE_MS = 60_000

type ReadData<Data> = (signal: AbortSignal) => Promise<Data>

/** Reads records, and reads them again when they change. Records with figures are also read at an interval. */
export const useRecords = <Data>(key: readonly unknown[], read: ReadData<Data>, interval: number | false = false) =>
  useQueryWithLogin([RECORDS, ...key], read, interval)

/** Reads figures, and reads them again each minute while they are shown. */
export const useFigures = <Data>(key: readonly unknown[], read: ReadData<Data>) =>
  useQueryWithLogin([FIGURES, ...key], read, MINUTE_MS)

const useQueryWithLogin = <Data>(queryKey: readonly unknown[], read: ReadData<Data>, refetchInterval: number | false) =>
  useQuery<Data>({
    queryKey,
    queryFn: ({ signal }) => withFreshSession(() => read(signal)),
    refetchInterval,
    // The rows of the last page stay while the next page loads.
    placeholderData: (previous) => previous,
  })

/** Reads all pages of a list. */
export async function readPages<Row>(
  read: (page: number) => Promise<{ rows: readonly Row[]; hasMore: boolean }>,
): Promise<Row[]> {
  const all: Row[] = []
  for (let page = 1; ; page++) {
    const { rows, hasMore } = await read(page)
    all.push(...rows)
    if (!hasMore) return all
  }
}

/** Milliseconds between two reads, as many changes come at once when people sign in or a command processes a list. */
const PAUSE_MS = 3000

/** Reads the shown records again when the service reports a change; a hidden page waits until it is visible. */
export function useLiveRecords(): void {
  useEffect(() => {
    let isStale = false
    const changes = new ChangeQueue<true>(async () => {
      isStale = document.hidden
      if (!isStale) await refreshQueries(RECORDS)
    }, PAUSE_MS)
    const stop = followChanges(() => changes.add(true), 'admin')
    const showAgain = () => {
      if (isStale && !document.hidden) changes.add(true)
    }
    document.addEventListener('visibilitychange', showAgain)
    return () => {
      changes.stop()
      document.removeEventListener('visibilitychange', showAgain)
      stop()
    }
  }, [])
}

/** Makes a change, after a fresh sign-in if the service requires it, and then reads the shown data again. */
export async function runMutation<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await withFreshSession(call)
  } catch (error) {
    throw withServiceReason(error)
  } finally {
    await Promise.all([refreshQueries(RECORDS), refreshQueries(FIGURES)])
  }
}

const refreshQueries = (root: string) => queryClient.invalidateQueries({ queryKey: [root] })

/**
 * Returns an error with the service's own reason for a refusal, which names the fields that administrators use.
 */
export function withServiceReason(error: unknown): unknown {
  if (!(error instanceof SvcError) || error.status === undefined || error.status >= 500) return error
  if (hasLabel(`app.error.${error.code}`) && !/^(invalid|conflict|not_found)$/.test(error.code)) return error
  return new InputError(describeRefusal(error))
}

/** Makes one call at a time, and keeps its result or its error. */
export function useCall<Result>() {
  const [state, setState] = useState<{ isWorking: boolean; result?: Result; error?: unknown }>({ isWorking: false })
  const run = async (call: () => Promise<Result>): Promise<void> => {
    if (state.isWorking) return
    setState({ isWorking: true })
    await call().then(
      (result) => setState({ isWorking: false, result }),
      (error: unknown) => setState({ isWorking: false, error }),
    )
  }
  return { ...state, run }
}
