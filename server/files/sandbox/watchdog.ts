import { Worker, workerData } from 'node:worker_threads'

const INTERVAL_MS = 10

interface Limits {
  /** Limit of resident memory in bytes, including buffers. */
  memory: number
  /** Limit of processor time in milliseconds, which other processes do not affect. */
  timeout: number
}

/**
 * Ends this process when it exceeds its memory, exceeds its processor time (by SIGXCPU), or outlives its parent. It
 * runs in its own thread, so that it works while a parser blocks the main thread, and it counts buffers, which no heap
 * limit does.
 */
export function startWatchdog(limits: Limits): void {
  const resourceLimits = { maxOldGenerationSizeMb: 8, maxYoungGenerationSizeMb: 1, stackSizeMb: 1 }
  new Worker(new URL(import.meta.url), { workerData: { limits, parent: process.ppid }, resourceLimits }).unref()
}

if (workerData?.limits) monitor(workerData)

function monitor({ limits, parent }: { limits: Limits; parent: number }): void {
  const pause = new Int32Array(new SharedArrayBuffer(4))
  while (process.memoryUsage.rss() <= limits.memory && process.ppid === parent) {
    const { user, system } = process.cpuUsage()
    if ((user + system) / 1000 > limits.timeout) process.kill(process.pid, 'SIGXCPU')
    Atomics.wait(pause, 0, 0, INTERVAL_MS)
  }
  process.kill(process.pid, 'SIGKILL')
}
