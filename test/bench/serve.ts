import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface PartUsage {
  /** Milliseconds of processor time since the start, on all threads. */
  cpu: number
  /** Megabytes: the most that was held at once. */
  peak: number
}

interface Running {
  /** `url`, and what else the parent needs to know. */
  ready: Record<string, string>
  stop(): Promise<unknown>
}

/** The child's side of a part: starts when told, tells what it has used, stops when the parent lets go. */
export function servePart<Input>(start: (input: Input) => Promise<Running>): void {
  let running: Running | undefined
  process.on('message', async (message: 'usage' | 'heap' | { start: Input }) => {
    if (message === 'usage') return void process.send?.(usage())
    if (message === 'heap') return void process.send?.(liveHeap())
    running = await start(message.start)
    process.send?.(running.ready)
  })
  process.on('disconnect', async () => {
    await running?.stop()
    process.exit(0)
  })
}

/** Megabytes of what is still used once all else is collected. */
function liveHeap(): number {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  collect()
  return process.memoryUsage().heapUsed / 1_000_000
}

function usage(): PartUsage {
  const { user, system } = process.cpuUsage()
  return { cpu: (user + system) / 1000, peak: peakMemory() }
}

/** `maxRSS` counts what the parent held at the fork; Linux also keeps a mark of the program's own. */
function peakMemory(): number {
  try {
    const [, kilobytes] = /^VmHWM:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
    if (kilobytes) return Number(kilobytes) / 1024
  } catch {}
  return process.resourceUsage().maxRSS / 1024
}
