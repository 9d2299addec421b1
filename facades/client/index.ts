import { createTRPCClient, httpBatchStreamLink, TRPCClientError } from '@trpc/client'
import type { AppRouter } from '../../routers/index.ts'
import type { Spelled } from './spelled.ts'

export interface ClientOptions {
  /** Where the service runs, such as `https://svc.example.org`. */
  url: string
  /** A personal access token. */
  token: string
}

/** Any value of JSON. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json }

/** A record that comes along by a relation, in turn with its own where they were asked for. */
export interface Linked {
  id: string
  rowVersion?: string
  relations?: Record<string, Linked | Linked[] | null>
}

export type Client = ReturnType<typeof createClient>

/**
 * The procedures of the service with their full types. Calls of one moment go out together; each takes an abort signal.
 *
 * @example const { text } = await createClient({ url, token }).ai.ask.mutate({ model, messages })
 */
export function createClient({ url, token }: ClientOptions) {
  const link = httpBatchStreamLink<AppRouter>({
    url: `${url.replace(/\/+$/, '')}/trpc`,
    headers: { authorization: `Bearer ${token}` },
    maxItems: 20,
  })
  return spell(createTRPCClient<AppRouter>({ links: [link] }))
}

/** What the service says about a call that failed; nothing where it was never reached. */
export function failureOf(error: unknown) {
  return error instanceof TRPCClientError ? spell((error as TRPCClientError<AppRouter>).data) : undefined
}

const spell = <T>(value: T) => value as Spelled<T>
