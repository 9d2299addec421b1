import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, inject, vi } from 'vitest'
import manifest from '../../package.json' with { type: 'json' }
import { startCluster } from '../../server/database/embedded-postgres.ts'

export const root = fileURLToPath(new URL('../..', import.meta.url))
const SLOW = { timeout: 200_000, interval: 20 }

/** A folder that a service may fill, in memory like that of the run. What a killed one left running in it is stopped at the end. */
export async function createDataFolder() {
  const path = await mkdtemp(join(inject('runFolder'), 'start-'))
  return {
    path,
    /** The process of the PostgreSQL that runs in it, by what the process table says. */
    postgres: () => findPostgres(path),
    async [Symbol.asyncDispose]() {
      if (await findPostgres(path)) await (await startCluster(join(path, 'postgres'))).stop('fast')
      await rm(path, { recursive: true, force: true })
    },
  }
}

async function findPostgres(path: string): Promise<number | undefined> {
  const file = await readFile(join(path, 'postgres/data/postmaster.pid'), 'utf8').catch(() => '')
  const pid = Number(file.split('\n')[0])
  return pid > 0 && existsSync(`/proc/${pid}`) ? pid : undefined
}

type Settings = Record<string, string | undefined>

const [, ...startWords] = manifest.scripts.start.split(' ')
const startArguments = startWords.map((word) => (word.startsWith('--') ? word : join(root, word)))

/** The service as a process of its own, as `npm start` runs it; nothing of this process's environment but the path. */
export function startProcess(settings: Settings, command = [process.execPath, ...startArguments], cwd = root) {
  const [program = '', ...args] = command
  const env = {
    PATH: `${dirname(process.execPath)}:${process.env['PATH']}`,
    HOME: tmpdir(),
    TMPDIR: tmpdir(),
    // Races have one person ask more at once than an agent does.
    AI_CALLS_PER_PERSON: '1000',
    ...settings,
  }
  const child = spawn(program, args, { cwd, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] })
  const output = { out: '', err: '' }
  child.stdout.on('data', (text) => {
    output.out += text
  })
  child.stderr.on('data', (text) => {
    output.err += text
  })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    child,
    output: output,
    ended,
    /** The address, once it listens. */
    async ready(): Promise<string> {
      const isReady = () => /(?:Next:|"msg":"ready").*\n$/s.test(output.out)
      await vi.waitFor(() => expect(isReady() || child.exitCode !== null).toBe(true), SLOW)
      const url = isReady() && output.out.match(/Server listening at (http:[\w.:/[\]]+)/)?.[1]
      return url || Promise.reject(new Error(`The service did not start.\n${output.out}${output.err}`))
    },
    kill: (signal: NodeJS.Signals) => child.kill(signal),
    /** Signals the whole process group, like a terminal. */
    signalAll: (signal: NodeJS.Signals) => process.kill(-(child.pid ?? 0), signal),
    stop: async () => {
      child.kill('SIGTERM')
      return ended
    },
    [Symbol.asyncDispose]: () => endProcess(child, ended),
  }
}

async function endProcess(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
  await Promise.race([ended, new Promise((late) => setTimeout(late, 40_000).unref())])
  child.kill('SIGKILL')
}
