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
  /** Highest memory of the subject up to now. */
  subjectPeak: number
  /** What the subject still used before the rounds and after them, once all else was collected. */
  heap: { before: number; after: number }
  floorPeak: number
}
