import { readFileSync, writeFileSync } from 'node:fs'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

export interface PartUsage {
  /** Milliseconds of processor time since the start, on all threads. */
  cpu: number
  /** Peak memory in megabytes. */
  peak: number
}

/** Measurements since the last watch. */
export interface Seen {
  /** Longest time without a turn of the event loop, in milliseconds. */
  delay: number
  /** Growth of the peak memory in megabytes. */
  growth: number
  /** Milliseconds of processor time, which other programs of the machine do not add to. */
  cpu: number
}

interface Running {
  /** `url`, and what else the parent needs to know. */
  ready: Record<string, string>
  stop(): Promise<unknown>
}

/** The child's side of a part: starts when told, tells what it has used, stops when the parent lets go. */
export function servePart<Input>(start: (input: Input) => Promise<Running>): void {
  let running: Running | undefined
  process.on('message', async (message: 'usage' | 'heap' | 'watch' | 'seen' | { start: Input }) => {
    if (message === 'watch') return void process.send?.(watch())
    if (message === 'seen') return void process.send?.(seen())
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

const delays = monitorEventLoopDelay({ resolution: 1 })
let heldBefore = 0
let usedBefore = 0

/** Resets the peak memory on Linux; elsewhere the growth is that of the whole run. */
function watch(): true {
  liveHeap()
  try {
    writeFileSync('/proc/self/clear_refs', '5')
  } catch {}
  heldBefore = process.memoryUsage.rss() / 1_000_000
  usedBefore = usage().cpu
  delays.enable()
  delays.reset()
  return true
}

function seen(): Seen {
  delays.disable()
  return { delay: delays.max / 1e6, growth: peakMemory() * 1.048_576 - heldBefore, cpu: usage().cpu - usedBefore }
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
