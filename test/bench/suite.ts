import type { Part } from './part.ts'

/** One thing that is measured: the service beside the least program that does the same. */
export interface Suite {
  name: string
  /** What is compared, in one sentence. */
  about: string
  open(world: World): Promise<Contest>
  wanted: readonly Wanted[]
}

/** What all suites share. */
export interface World {
  databaseUrl: string
  /** A folder that is removed at the end. */
  folder: string
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
  /** Callers who take turns, by their tokens. */
  tokens?: readonly string[]
  body?: string
  /** Whether its first byte is timed, and not its end alone. */
  timesFirstByte?: true
  /** Whether this is the end of the answer that was asked for. */
  isWhole(end: string): boolean
}

export interface Wanted {
  what: string
  /** In a report for one request at one concurrency; undefined where it says nothing about that. */
  met(comparison: Comparison): boolean | undefined
}

/** Medians over the rounds. Times in milliseconds, memory in megabytes. */
export interface Figures {
  perSecond: number
  p50: number
  p99: number
  /** Of the first byte, where it is timed; 50 of 100 come by then. */
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
  /** What the subject still used before the rounds and after them, once all else was collected. */
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
