import { QueryClient } from '@tanstack/react-query'
import { type Client, createClient, SvcError } from '../../../../client/index.ts'
import { appLocale } from '../text/labels.ts'
import { watchedFetch } from './session-end.ts'

/** The procedures of the service, called by the session of this page. */
export const api: Client = createClient({
  url: location.origin,
  headers: { 'x-app-locale': appLocale },
  fetch: watchedFetch,
})

type Result<Call extends (...args: never[]) => Promise<unknown>> = Awaited<ReturnType<Call>>

export type Connection = Result<Client['connections']['get']['query']>
export type Conversation = Result<Client['conversations']['get']['query']>
export type StoredMessage = Result<Client['conversations']['messages']['query']>['data'][number]
export type Model = Result<Client['aiModels']['list']['query']>['items'][number]
export type AiRequest = Parameters<Client['ai']['completeStream']['mutate']>[0]
export type StreamPart =
  Result<Client['ai']['completeStream']['mutate']> extends AsyncIterable<infer Part> ? Part : never

/** What is asked again by itself: only what nobody could answer, never what was refused. */
const mayRetry = (attempts: number, error: Error) =>
  attempts < 3 && (!(error instanceof SvcError) || error.status === undefined || error.status === 503)

export const queryClient = new QueryClient({
  defaultOptions: { queries: { retry: mayRetry, staleTime: 30_000, refetchOnWindowFocus: false } },
})

export const isSignedOut = (error: unknown): boolean => error instanceof SvcError && error.status === 401
