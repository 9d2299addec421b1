import { readFileSync } from 'node:fs'

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
  process.on('message', async (message: 'usage' | { start: Input }) => {
    if (message === 'usage') return void process.send?.(usage())
    running = await start(message.start)
    process.send?.(running.ready)
  })
  process.on('disconnect', async () => {
    await running?.stop()
    process.exit(0)
  })
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
