import { statfs } from 'node:fs/promises'
import { sumReserved } from '../../entities/ai/usage-reservation.sql.ts'
import type { Sql } from '../../entities/sql/statement.ts'
import type { Metrics, MetricsSample } from '../../routers/ports/metrics.ts'
import type { DatabaseJobQueue } from '../stores/job-queue.ts'

export interface SampledParts {
  metrics: Metrics
  jobQueue: Pick<DatabaseJobQueue, 'count'>
  sql: Sql
  /** The data folder. */
  folder: string
}

/** Reads what nobody who asks for metrics is to wait for; a sample that failed leaves no number, for an old one would be wrong. */
export async function sampleMetrics({ metrics, ...parts }: SampledParts): Promise<void> {
  try {
    metrics.setSample(await readSample(parts))
  } catch (error) {
    metrics.setSample(undefined)
    throw error
  }
}

const MILLION = 1_000_000

async function readSample({ jobQueue, sql, folder }: Omit<SampledParts, 'metrics'>): Promise<MetricsSample> {
  const [jobs, reserved, disk] = await Promise.all([jobQueue.count(), sql(sumReserved), statfs(folder)])
  return {
    jobs,
    reserved: reserved.map(({ limit, unit, currency, amount }) =>
      unit === 'money' ? { limit, unit: currency ?? unit, amount: amount / MILLION } : { limit, unit, amount },
    ),
    diskFree: disk.bavail * disk.bsize,
  }
}
