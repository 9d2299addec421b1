import { createTRPCClient, httpBatchStreamLink, type TRPCClient } from '@trpc/client'
import type { AppRouter } from '../../routers/index.ts'

export interface ClientOptions {
  /** Where the service runs, such as `https://svc.example.org`. */
  url: string
  /** A personal access token. */
  token: string
}

export type Client = TRPCClient<AppRouter>
export type { AppRouter }

/**
 * The procedures of the service with their full types. Calls of one moment go out together; each takes an abort signal.
 *
 * @example const { text } = await createClient({ url, token }).ai.ask.mutate({ model, messages })
 */
export function createClient({ url, token }: ClientOptions): Client {
  const link = httpBatchStreamLink<AppRouter>({
    url: `${url.replace(/\/+$/, '')}/trpc`,
    headers: { authorization: `Bearer ${token}` },
  })
  return createTRPCClient<AppRouter>({ links: [link] })
}
