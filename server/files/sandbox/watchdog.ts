import { Worker, workerData } from 'node:worker_threads'

const INTERVAL_MS = 10

interface Limits {
  /** Memory in bytes, buffers included. */
  memory: number
  /** Milliseconds of processor time, which no other program of the machine adds to. */
  timeout: number
}

/**
 * Ends this process when it holds more memory than it may, works longer than it may (by SIGXCPU), or outlives its parent. A
 * thread of its own looks, so that a parser that never gives way is ended, too; buffers count, which no limit of a heap sees.
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
