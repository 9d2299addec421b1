import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

interface PartOptions {
  env?: Record<string, string>
  cwd: string
  /** Whether it serves by now; asked again and again until it says so. */
  isReady: () => Promise<boolean>
}

const START_MS = 120_000

/** A process in the place of a container. Resolves once it serves; throws with what it said where it ends before that. */
export async function startPart([program = '', ...args]: string[], { env = {}, cwd, isReady }: PartOptions) {
  const path = `${dirname(process.execPath)}:${process.env['PATH']}`
  const child = spawn(program, args, { cwd, env: { PATH: path, HOME: cwd, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const said = { out: '' }
  for (const output of [child.stdout, child.stderr])
    output.on('data', (text) => {
      said.out += text
    })
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null
  const end = async (signal: NodeJS.Signals) => {
    if (!hasEnded()) child.kill(signal)
    return ended
  }
  const start = Date.now()
  while (!(await isReady().catch(() => false))) {
    if (!hasEnded() && Date.now() - start < START_MS) await pause(50)
    else {
      await end('SIGKILL')
      throw new Error(`${program} did not start.\n${said.out}`)
    }
  }
  return {
    said,
    /** Asks it to stop, as Docker does; resolves with its exit code. */
    stop: () => end('SIGTERM'),
    kill: () => end('SIGKILL'),
    [Symbol.asyncDispose]: async () => void (await end('SIGKILL')),
  }
}

export type Part = Awaited<ReturnType<typeof startPart>>
