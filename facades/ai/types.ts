import type { Api } from '../../routers/index.ts'

/** What all faces translate requests into, and answers from. */
export type CoreRequest = Parameters<Api['ai']['complete']>[0]

export type WholeAnswer = Awaited<ReturnType<Api['ai']['complete']>>
export type Usage = WholeAnswer['usage']

export type StreamPart =
  Awaited<ReturnType<Api['ai']['completeStream']>> extends AsyncGenerator<infer Part> ? Part : never
