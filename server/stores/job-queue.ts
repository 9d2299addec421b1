import type { EntityManager } from '@mikro-orm/postgresql'
import type { Pool } from 'pg'
import { type Clock, type Job, PgBoss } from 'pg-boss'
import { statement, unboundedStatement } from '../../entities/sql/statement.ts'
import { runStatement } from '../../routers/core/run-statement.ts'
import type { JobHandlers, JobInputs, JobName, JobQueue, PlannedJob } from '../../routers/ports/job-queue.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { MetricsSample } from '../../routers/ports/metrics.ts'
import { recordWork, type Traces } from '../../routers/ports/traces.ts'

interface JobQueueOptions {
  pool: Pool
  log: Log
  traces?: Traces | undefined
  /** Seconds after which a job whose replica died is taken by another; at least 10. */
  heartbeat?: number
  /** How often a job that failed is tried again, first after so many seconds, then after ever more. */
  retryLimit?: number
  retryDelay?: number
}

const SCHEMA = 'svc_jobs'
const WAKE_AFTER_MS = 100

const terms = { retryBackoff: true, retryDelayMax: 300, expireInSeconds: 900 }

const names: readonly JobName[] = ['extract-text', 'export-person']
const failed = (name: JobName) => `${name}.failed`

/** Jobs on the database of the service, in a schema of their own, over its pool. */
export class DatabaseJobQueue implements JobQueue {
  readonly #boss: PgBoss
  readonly #parts: Pick<JobQueueOptions, 'log' | 'traces'>
  readonly #limits: { heartbeatSeconds: number; retryLimit: number; retryDelay: number }
  readonly #closing = new AbortController()
  /** By the names of their queues. */
  readonly #workers = new Map<string, string>()

  /** Makes the tables of the jobs where there are none; throws where the database role may not. */
  readonly prepare: () => Promise<void>

  constructor({ pool, log, traces, heartbeat = 30, retryLimit = 5, retryDelay = 5 }: JobQueueOptions) {
    const boss = createBoss({ pool, log, heartbeat })
    this.#boss = boss
    this.#parts = { log, traces }
    this.#limits = { heartbeatSeconds: heartbeat, retryLimit, retryDelay }
    this.prepare = onceDone(() => begin(boss))
  }

  async enqueue<Name extends JobName>(em: EntityManager, name: Name, { input, priority = 0 }: PlannedJob<Name>) {
    await this.prepare()
    await this.#boss.send(name, input, { ...this.#queueOptions(name), priority, db: within(em, `enqueue-${name}`) })
    const worker = this.#workers.get(name)
    if (worker) setTimeout(() => this.#boss.notifyWorker(worker), WAKE_AFTER_MS).unref()
  }

  async enqueueLost<Name extends JobName>(em: EntityManager, name: Name, inputs: readonly JobInputs[Name][]) {
    await this.prepare()
    const lost = await runStatement(em, lostJobs, [[name, failed(name)], JSON.stringify(inputs)])
    const jobs = lost.map(({ input }) => ({ ...this.#queueOptions(name), data: input }))
    if (jobs.length > 0) await this.#boss.insert(name, jobs, { db: within(em, '') })
    return jobs.length
  }

  /** How many jobs of each name there are at all replicas, as one of them counted them a moment ago. */
  async count(): Promise<MetricsSample['jobs']> {
    await this.prepare()
    const queues = await this.#boss.getQueues([...names])
    return queues.flatMap(({ name: queue, queuedCount, activeCount, failedCount }) => [
      { queue, state: 'waiting' as const, count: queuedCount },
      { queue, state: 'running' as const, count: activeCount },
      { queue, state: 'failed' as const, count: failedCount },
    ])
  }

  /** Begins to take jobs, so many of each name at a time. */
  async work(handlers: JobHandlers, concurrency: Readonly<Record<JobName, number>>): Promise<void> {
    await this.prepare()
    for (const name of names) await this.#take(name, handlers, concurrency[name])
  }

  /** Takes no more jobs and waits for the end of those under way, which is soon: another replica does them anew. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#workers.keys()].map((name) => this.#boss.offWork(name, { wait: true })))
    await this.#boss.stop({ close: false })
  }

  async #take<Name extends JobName>(name: Name, handlers: JobHandlers, localConcurrency: number): Promise<void> {
    const { run, giveUp } = handlers[name]
    const { signal: closing } = this.#closing
    const work = carryOut<Name>(({ data, signal }) => run(data, AbortSignal.any([signal, closing])), this.#parts)
    const bury = carryOut<Name>(({ data }) => giveUp(data), this.#parts)
    const options = { localConcurrency, heartbeatRefreshSeconds: this.#limits.heartbeatSeconds / 3 }
    this.#workers.set(name, await this.#boss.work(name, options, work))
    this.#workers.set(failed(name), await this.#boss.work(failed(name), bury))
  }

  #queueOptions(name: JobName) {
    return { ...terms, ...this.#limits, deadLetter: failed(name) }
  }
}

/** The longest that pg-boss waits by itself, in milliseconds. */
const MAX_WAIT_MS = 600_000

/** The machine's clock. Where that was set back, pg-boss waits until it is right again, and would wait for months. */
const clock: Clock = {
  now: () => Date.now(),
  setTimeout: (run, ms) => setTimeout(run, Math.min(ms, MAX_WAIT_MS)),
  clearTimeout: (timer) => clearTimeout(timer as NodeJS.Timeout),
  setInterval: (run, ms) => setInterval(run, ms),
  clearInterval: (timer) => clearInterval(timer as NodeJS.Timeout),
}

function createBoss({ pool, log, heartbeat }: JobQueueOptions & { heartbeat: number }): PgBoss {
  const boss = new PgBoss({
    db: { executeSql: (text, values) => pool.query(text, values) },
    schema: SCHEMA,
    clock,
    schedule: false,
    monitorVacuum: false,
    superviseIntervalSeconds: Math.ceil(heartbeat / 3),
    monitorIntervalSeconds: Math.ceil(heartbeat / 3),
  })
  boss.on('error', (error) => log.error({ error }, 'jobs cannot be looked after'))
  boss.on('warning', (warning) => log.warn(warning, 'jobs pile up'))
  return boss
}

async function begin(boss: PgBoss): Promise<void> {
  await boss.start().catch(explain)
  const wanted = names.flatMap((name) => [failed(name), name])
  const present = new Set((await boss.getQueues(wanted)).map(({ name }) => name))
  for (const name of wanted) if (!present.has(name)) await boss.createQueue(name)
}

/** PostgreSQL's code for what a role may not do. */
const FORBIDDEN = '42501'

function explain(cause: Error & { code?: unknown }): never {
  if (cause.code !== FORBIDDEN) throw cause
  const hint = 'Let an administrator run `grant create on database NAME to ROLE`.'
  throw new Error(`The jobs cannot have their schema ${SCHEMA}: ${cause.message}. ${hint}`, { cause })
}

/** What is written to the table of jobs must not tell what is in a file, so the reason of a failure is only logged. */
const carryOut =
  <Name extends JobName>(
    work: (job: Job<JobInputs[Name]>) => Promise<unknown>,
    { log, traces }: Pick<JobQueueOptions, 'log' | 'traces'>,
  ) =>
  async (jobs: Job<JobInputs[Name]>[]): Promise<void> => {
    for (const job of jobs) {
      await recordWork(traces?.begin(`job ${job.name}`), () => work(job)).catch((error: Error) => {
        if (error.name !== 'AbortError') log.error({ name: job.name, error }, 'a job failed')
        throw new Error('The log says why.')
      })
    }
  }

/** Runs what plans a job in the transaction of the caller. */
const within = (em: EntityManager, name: string) => ({
  executeSql: async (text: string, values: unknown[] = []) => ({
    rows: await runStatement(em, statement(name, text), values),
  }),
})

/** Values: the names of queues, and inputs. Those inputs of which no job in the queues is still to end. */
const lostJobs = unboundedStatement<{ input: object }>(
  `select input from jsonb_array_elements($2::jsonb) input
    where not exists (select from ${SCHEMA}.job j
      where j.name = any($1::text[]) and j.state in ('created', 'retry', 'active') and j.data = input)`,
)

/** Does it when first asked for, and anew where it failed. */
function onceDone(work: () => Promise<void>): () => Promise<void> {
  let done: Promise<void> | undefined
  return () => {
    done ??= work().catch((error) => {
      done = undefined
      throw error
    })
    return done
  }
}
