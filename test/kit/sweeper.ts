import { once } from 'node:events'
import { globSync, readdirSync, readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Milliseconds in which processes may end by themselves. */
const PATIENCE_MS = 10_000

const folders = process.argv.slice(2)

async function endProcesses(): Promise<void> {
  const deadline = Date.now() + PATIENCE_MS
  const servers = findServers()
  for (const pid of findProcesses(servers)) send(pid, isPostgres(pid) ? 'SIGINT' : 'SIGTERM')
  while (findProcesses(servers).length > 0 && Date.now() < deadline) await pause(50)
  for (const pid of findProcesses(servers)) send(pid, 'SIGKILL')
}

/** Database servers whose data lies in one of the folders. */
const findServers = () => folders.flatMap((folder) => globSync(join(folder, '**/postmaster.pid'))).map(readPid)

/** The servers that still run, and what was started with one of the folders in its arguments or environment. */
const findProcesses = (servers: number[]) => [
  ...new Set([...servers.filter(isRunning), ...listProcesses().filter(isOurs)]),
]

const readPid = (file: string) => Number(readText(file).split('\n')[0])

/** Only Linux has the process table as files. */
const listProcesses = () =>
  readEntries('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)

const isOurs = (pid: number) =>
  pid !== process.pid &&
  ['cmdline', 'environ'].some((file) => folders.some((folder) => readText(`/proc/${pid}/${file}`).includes(folder)))

const isPostgres = (pid: number) => readText(`/proc/${pid}/comm`).startsWith('postgres')

const isRunning = (pid: number): boolean => pid > 0 && send(pid, 0)

function send(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

/** Returns an empty text for a file that is gone or not readable. */
function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return ''
  }
}

function readEntries(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

// The sweeper outlives the signals that a terminal sends to the run.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {})

// The pipe closes when the run ends, however it ends.
process.stdin.resume()
await once(process.stdin, 'close')
await endProcesses()
for (const folder of folders) await rm(folder, { recursive: true, force: true, maxRetries: 10 })
