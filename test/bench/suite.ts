import type { Part } from './part.ts'

/** One thing that is measured: the service beside the least program that does the same. */
export interface Suite {
  name: string
  /** The comparison in one sentence. */
  about: string
  open(world: World): Promise<Contest>
  /** Numbers of concurrent requests, if not those of the plan. */
  concurrencies?: readonly number[]
  wanted: readonly Wanted[]
}

/** The resources that all suites share. */
export interface World {
  databaseUrl: string
  /** A folder that is removed at the end. */
  folder: string
  /** True if suites are only opened, so that a large table may have few rows. */
  isCheck: boolean
  start<Input>(file: string, input: Input): Promise<Part>
}

export interface Contest {
  subject: Part
  floor: Part
  requests: readonly BenchRequest[]
}

export interface BenchRequest {
  name: string
  method: 'GET' | 'POST'
  path: string
  /** Addresses that are asked for in turn, in place of `path`. */
  paths?: readonly string[]
  headers: Record<string, string>
  /** Callers who take turns, by their tokens or by the cookies of their sessions. */
  tokens?: readonly string[]
  cookies?: readonly string[]
  body?: string
  /** Floor of this request, if not that of the others. */
  floor?: Part
  /** True if the first byte is timed, too. */
  timesFirstByte?: true
  /** Returns true at the end of the requested answer. */
  isWhole(end: string): boolean
}

export interface Wanted {
  what: string
  /** Returns the verdict for one request at one concurrency; undefined without one. */
  met(comparison: Comparison): boolean | undefined
}

/** Medians over the rounds. Times in milliseconds, memory in megabytes. */
export interface Figures {
  perSecond: number
  p50: number
  p99: number
  /** The median time of the first byte, if it is timed. */
  first: number
  cpuPerRequest: number
}

export interface Comparison {
  suite: string
  request: string
  concurrency: number
  subject: Figures
  floor: Figures
  /** Requests per second of the subject to those of the floor in the round beside it: the median of all rounds. */
  ratio: number
  /** Highest memory up to now. */
  subjectPeak: number
  floorPeak: number
  /** The subject's live memory before and after the rounds, after a collection. */
  heap: { before: number; after: number }
}

/** At least this part of the floor's requests per second, wherever the comparison is one that counts. */
export const throughput = (least: number, counts: (comparison: Comparison) => boolean): Wanted => ({
  what: `at least ${least} of the floor`,
  met: (comparison) => (counts(comparison) ? comparison.ratio >= least : undefined),
})

/** Memory beside that of the least program: how much that is depends on the engine and the machine. */
export const memory: Wanted = {
  what: 'peak memory at most that of the floor',
  met: ({ subjectPeak, floorPeak }) => subjectPeak <= floorPeak,
}
