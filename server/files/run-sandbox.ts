import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createRequire } from 'node:module'
import { constants, setPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Task } from './sandbox/main.ts'

export interface SandboxEnd {
  code: number | null
  signal: NodeJS.Signals | null
  /** What it wrote; cut where that is more than the task allows. */
  output: string
  /** Whether it took the whole file. */
  tookAll: boolean
}

type Child = ChildProcessByStdio<Writable, Readable, null>

const MB = 1024 * 1024

/** What the engine holds beside its heap. */
const BESIDE_HEAP = 96 * MB

const main = join(import.meta.dirname, 'sandbox/main.ts')

/** Its own code, and wherever its parsers may be installed. */
const readableFolders = [
  join(import.meta.dirname, 'sandbox'),
  ...(createRequire(import.meta.url).resolve.paths('unpdf') ?? []),
]

/**
 * Gives a file to a process that sees nothing else: no environment, no network, no file but the parsers. It gives way
 * to all other work of the machine and is killed when the signal says so. Throws where the file itself cannot be read.
 */
export async function runSandbox(file: Readable, task: Task, signal: AbortSignal): Promise<SandboxEnd> {
  const child = start(task)
  const kill = () => void child.kill('SIGKILL')
  signal.addEventListener('abort', kill)
  try {
    const [end, output, tookAll] = await Promise.all([once(child, 'close'), collect(child, task), send(file, child)])
    return { code: end[0], signal: end[1], output, tookAll }
  } finally {
    signal.removeEventListener('abort', kill)
    kill()
  }
}

function start(task: Task): Child {
  const flags = [
    '--permission',
    '--allow-worker',
    ...readableFolders.map((folder) => `--allow-fs-read=${folder}`),
    '--disallow-code-generation-from-strings',
    `--max-old-space-size=${Math.max(64, Math.round((task.memory - BESIDE_HEAP) / MB))}`,
  ]
  const child = spawn(process.execPath, [...flags, main, JSON.stringify(task)], {
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
    // It may have ended already.
  }
}

/** A character takes at most three bytes in JSON, as all that would be escaped at length are left out. */
const maxOutput = ({ maxCharacters }: Task) => 3 * maxCharacters + 1024

async function collect(child: Child, task: Task): Promise<string> {
  const chunks: Buffer[] = []
  let left = maxOutput(task)
  for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
    left -= chunk.length
    if (left < 0) child.kill('SIGKILL')
    else chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Returns whether all of it was taken: a process that ends early does not read on. */
async function send(file: Readable, { stdin }: Child): Promise<boolean> {
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
