import type { Readable } from 'node:stream'
import { bulkhead } from 'cockatiel'
import { z } from 'zod'
import { textFailures, textGaps } from '../../entities/rooms/attachment.ts'
import type { ExtractedText } from '../../routers/ports/files/text-extractor.ts'
import { runSandbox, type SandboxEnd } from './run-sandbox.ts'
import type { ContentKind } from './sandbox/extract.ts'
import type { Task } from './sandbox/main.ts'

export interface SandboxOptions extends Omit<Task, 'kind'> {
  /** Files that are read at once; more wait. */
  workers: number
}

/** Reads each file in a process of its own that is killed where it takes more than its share. */
export interface SandboxPool {
  read(content: Readable, kind: ContentKind, signal?: AbortSignal): Promise<ExtractedText>
}

export function createSandboxPool({ workers, ...bounds }: SandboxOptions): SandboxPool {
  const places = bulkhead(workers, Number.POSITIVE_INFINITY)
  return {
    read: (content, kind, signal = new AbortController().signal) =>
      places.execute(() => run(content, { kind, ...bounds }, signal)),
  }
}

async function run(content: Readable, task: Task, signal: AbortSignal): Promise<ExtractedText> {
  signal.throwIfAborted()
  const late = AbortSignal.timeout(CLOCK * task.timeout)
  const end = await runSandbox(content, task, AbortSignal.any([signal, late]))
  signal.throwIfAborted()
  if (end.signal === 'SIGXCPU' || (late.aborted && end.tookAll)) return { unreadable: 'too-slow' }
  if (!late.aborted && end.signal && outOfMemory.has(end.signal)) return { unreadable: 'too-much-memory' }
  return toExtractedText(end)
}

/** A file may take so much longer by the clock than it takes the processor: it gives way to everything else. */
const CLOCK = 10

/** How the engine ends when its heap is full, and how the watchdog and the kernel end a process. */
const outOfMemory: ReadonlySet<NodeJS.Signals> = new Set([
  'SIGKILL',
  'SIGABRT',
  'SIGTRAP',
  'SIGILL',
  'SIGSEGV',
  'SIGBUS',
])

const note = z.object({ gap: z.enum(textGaps), count: z.int().positive() })

const result = z.union([
  z.object({ text: z.string(), truncated: z.boolean(), notes: z.array(note) }),
  z.object({ unreadable: z.enum(textFailures).exclude(['not-read']) }),
])

function toExtractedText({ code, signal, output, tookAll }: SandboxEnd): ExtractedText {
  if (code !== 0 || !tookAll) throw new Error(`a file could not be read: its process ended with ${signal ?? code}`)
  return result.parse(parse(output))
}

/** An error of the parser would quote the text. */
function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    throw new Error('a file could not be read: what its process wrote is cut')
  }
}
