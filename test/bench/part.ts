import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { basename, join } from 'node:path'
import manifest from '../../package.json' with { type: 'json' }
import type { PartUsage, Seen } from './serve.ts'

/** A process that is measured, or that the measured ones call. */
export interface Part {
  url: string
  /** The data of its start beside the address. */
  details: Record<string, string>
  usage(): Promise<PartUsage>
  /** Megabytes that are still used once all else is collected. */
  heap(): Promise<number>
  /** Starts to measure delays and memory; `seen` returns the result. */
  watch(): Promise<true>
  seen(): Promise<Seen>
  stop(): Promise<void>
}

export interface PartOptions {
  /** Takes its standard output. */
  log: string
  /** The path of a CPU profile, written at the stop. */
  profile?: string | undefined
}

/** The arguments of `npm start`; the floor runs in the same way. */
const startFlags = manifest.scripts.start.split(' ').filter((word) => word.startsWith('--'))

/** Starts a module of this folder in a process of its own; it talks through `servePart`. */
export async function startPart<Input>(file: string, input: Input, { log, profile }: PartOptions): Promise<Part> {
  const child = fork(join(import.meta.dirname, file), {
    stdio: ['ignore', openSync(log, 'a'), 'inherit', 'ipc'],
    execArgv: [
      ...startFlags,
      ...(profile ? ['--cpu-prof', `--cpu-prof-dir=${profile}`, `--cpu-prof-name=${basename(file)}.cpuprofile`] : []),
    ],
    // The environment of this process must not reach the service.
    env: {
      PATH: process.env['PATH'],
      NODE_ENV: 'development',
      NODE_COMPILE_CACHE: join(import.meta.dirname, '../../node_modules/.cache/svc'),
    },
  })
  const { url, ...details } = await requestReply<Record<string, string>>(child, { start: input })
  return {
    url: url ?? '',
    details,
    usage: () => requestReply<PartUsage>(child, 'usage'),
    heap: () => requestReply<number>(child, 'heap'),
    watch: () => requestReply<true>(child, 'watch'),
    seen: () => requestReply<Seen>(child, 'seen'),
    async stop() {
      if (child.exitCode !== null) return
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

async function requestReply<Reply>(child: ChildProcess, question: object | string): Promise<Reply> {
  const over = new AbortController()
  const gone = once(child, 'exit', { signal: over.signal }).then(() => {
    throw new Error(`${child.spawnargs.at(-1)} ended early`)
  })
  const reply = once(child, 'message', { signal: over.signal })
  child.send(question)
  try {
    return (await Promise.race([reply, gone]))[0]
  } finally {
    gone.catch(() => {})
    over.abort()
  }
}
