import type { Client } from '../../../../client/index.ts'

/** The result of a call of the client, for code that runs without a page, as tests do. */
type Result<Call extends (...args: never[]) => Promise<unknown>> = Awaited<ReturnType<Call>>

export type StoredMessage = Result<Client['conversations']['messages']['query']>['data'][number]
export type AiRequest = Parameters<Client['ai']['completeStream']['mutate']>[0]
export type StreamPart =
  Result<Client['ai']['completeStream']['mutate']> extends AsyncIterable<infer Part> ? Part : never
