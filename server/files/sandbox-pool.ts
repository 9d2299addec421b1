import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { constants, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { bulkhead } from 'cockatiel'
import { z } from 'zod'
import { textFailures, textGaps } from '../../entities/sql/extracted-text.ts'
import { type ExtractionResult, markKinds } from '../../routers/ports/files/text-extractor.ts'
import type { ContentKind } from './sandbox/content-kinds.ts'
import type { Task } from './sandbox/main.ts'
import { MAX_MARKS } from './sandbox/text-collector.ts'

interface SandboxResult {
  code: number | null
  signal: NodeJS.Signals | null
  /** The output, cut if it is longer than the task allows. */
  output: string
  /** True if the process read the whole file. */
  consumedAll: boolean
}

type Child = ChildProcessByStdio<Writable, Readable, null>

const MB = 1024 * 1024

/** Memory that V8 uses beside its heap. */
const NON_HEAP_BYTES = 96 * MB

const mainPath = join(import.meta.dirname, 'sandbox/main.ts')

/** The sandbox's own code, and all folders in which its parsers may be installed. */
const readableFolders = [
  join(import.meta.dirname, 'sandbox'),
  ...(createRequire(import.meta.url).resolve.paths('unpdf') ?? []),
]

/**
 * Passes a file to a process without access to the environment, the network or any file but its parsers. The process
 * has a low priority and is killed when the signal aborts. Throws if the file itself cannot be read.
 */
async function runSandbox(file: Readable, task: Task, signal: AbortSignal): Promise<SandboxResult> {
  const child = startSandbox(task)
  const kill = () => void child.kill('SIGKILL')
  signal.addEventListener('abort', kill)
  try {
    const [end, output, consumedAll] = await Promise.all([
      once(child, 'close'),
      collectOutput(child, task),
      pipeFile(file, child),
    ])
    return { code: end[0], signal: end[1], output, consumedAll }
  } finally {
    signal.removeEventListener('abort', kill)
    kill()
  }
}

function startSandbox(task: Task): Child {
  const flags = [
    '--permission',
    '--allow-worker',
    ...readableFolders.map((folder) => `--allow-fs-read=${folder}`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${Math.max(64, Math.round((task.memory - NON_HEAP_BYTES) / MB))}`,
  ]
  const child = spawn(process.execPath, [...flags, mainPath, JSON.stringify(task)], {
    env: {},
    cwd: tmpdir(),
    stdio: ['pipe', 'pipe', 'ignore'],
    windowsHide: true,
  })
  lowerPriority(child.pid)
  return child
}

function lowerPriority(pid: number | undefined): void {
  try {
    if (pid) setPriority(pid, constants.priority.PRIORITY_BELOW_NORMAL)
  } catch {
    // The process may have ended already.
  }
}

/** A mark takes at most so many bytes in JSON. */
const MARK_BYTES = 64

/** A character takes at most three bytes in JSON, since those with longer escapes are removed. */
const computeMaxOutput = ({ maxCharacters }: Task) => 3 * maxCharacters + MARK_BYTES * MAX_MARKS + 1024

async function collectOutput(child: Child, task: Task): Promise<string> {
  const chunks: Buffer[] = []
  let remaining = computeMaxOutput(task)
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    remaining -= chunk.length
    if (remaining < 0) child.kill('SIGKILL')
    else chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Returns whether the process read the whole file; one that ends early does not. */
async function pipeFile(file: Readable, { stdin }: Child): Promise<boolean> {
  let failure: unknown
  file.once('error', (error) => {
    failure ??= stdin.destroyed ? undefined : error
  })
  return pipeline(file, stdin).then(
    () => true,
    () => {
      if (failure) throw failure
      return false
    },
  )
}

export interface SandboxOptions extends Omit<Task, 'kind'> {
  /** Number of files that are read at the same time; others wait. */
  workers: number
}

/** Reads each file in a process of its own, which is killed if it exceeds its limits. */
export interface SandboxPool {
  read(content: Readable, kind: ContentKind, signal?: AbortSignal): Promise<ExtractionResult>
}

export function createSandboxPool({ workers, ...limits }: SandboxOptions): SandboxPool {
  const slots = bulkhead(workers, Number.POSITIVE_INFINITY)
  return {
    read: (content, kind, signal = new AbortController().signal) =>
      slots.execute(() => readInSandbox(content, { kind, ...limits }, signal)),
  }
}

async function readInSandbox(content: Readable, task: Task, signal: AbortSignal): Promise<ExtractionResult> {
  signal.throwIfAborted()
  const deadline = AbortSignal.timeout(CLOCK_FACTOR * task.timeout)
  const end = await runSandbox(content, task, AbortSignal.any([signal, deadline]))
  signal.throwIfAborted()
  if (end.signal === 'SIGXCPU' || (deadline.aborted && end.consumedAll)) return { unreadable: 'too-slow' }
  if (!deadline.aborted && end.signal && memorySignals.has(end.signal)) return { unreadable: 'too-much-memory' }
  return toExtractedText(end)
}

/** Factor of elapsed time to processor time, since the process has a low priority. */
const CLOCK_FACTOR = 10

/** Signals by which V8 ends when its heap is full, and by which the watchdog and the kernel end a process. */
const memorySignals: ReadonlySet<NodeJS.Signals> = new Set([
  'SIGKILL',
  'SIGABRT',
  'SIGTRAP',
  'SIGILL',
  'SIGSEGV',
  'SIGBUS',
])

const noteSchema = z.object({ gap: z.enum(textGaps), count: z.int().positive() })

const markSchema = z.object({ kind: z.enum(markKinds), at: z.int().nonnegative(), value: z.int().nonnegative() })

const outputSchema = z.union([
  z.object({
    text: z.string(),
    marks: z.array(markSchema).max(MAX_MARKS),
    truncated: z.boolean(),
    notes: z.array(noteSchema),
  }),
  z.object({ unreadable: z.enum(textFailures).exclude(['not-read']) }),
])

function toExtractedText({ code, signal, output, consumedAll }: SandboxResult): ExtractionResult {
  if (code !== 0 || !consumedAll) throw new Error(`a file could not be read: its process ended with ${signal ?? code}`)
  return outputSchema.parse(parseOutput(output))
}

/** The parser's error would quote the text. */
function parseOutput(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    throw new Error('a file could not be read: what its process wrote is cut')
  }
}
