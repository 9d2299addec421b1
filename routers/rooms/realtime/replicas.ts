import { setTimeout as pause } from 'node:timers/promises'
import type { ChangeBus } from '../../ports/change-bus.ts'

/** What is told over the bus: a replica of itself, and whoever wants to hear it of all. */
export const REPLICA = 'replica'
export const ASKED = 'replicas asked'

/** How long replicas have to answer, in milliseconds. */
const PATIENCE_MS = 1500
const TIMES = 5

/** What is open at a replica. */
export interface ReplicaStats {
  connections: number
  people: number
  channels: number
  /** Streams that are followed by server-sent events. */
  subscriptions: number
  /** Streams whose changes are being read from the log. */
  behind: number
  /** How long the slowest change of the last seconds took from the log to the replica, in milliseconds. */
  lagMs: number
}

export interface ReplicaReport extends ReplicaStats {
  replica: string
  /** The names of parts that do not work there; null until it has looked. */
  failing: string[] | null
}

/** Asks all replicas; none answers where there is no bus between them. */
export async function askReplicas(bus: ChangeBus): Promise<ReplicaReport[]> {
  const reports = new Map<string, ReplicaReport>()
  const told = (topic: string, content: unknown) => {
    const report = content as ReplicaReport
    if (topic === REPLICA) reports.set(report.replica, report)
  }
  const stop = bus.subscribe({ changed() {}, interrupted() {}, told })
  // The bus may have just begun to connect.
  for (let asked = 0; asked < TIMES; asked++) {
    bus.tell(ASKED, {})
    await pause(PATIENCE_MS / TIMES)
  }
  stop()
  return [...reports.values()]
}
