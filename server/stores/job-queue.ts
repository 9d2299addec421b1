import type { EntityManager } from '@mikro-orm/postgresql'
import type { Pool } from 'pg'
import { type Clock, type Job, PgBoss } from 'pg-boss'
import { statement, unboundedStatement } from '../../entities/sql/statement.ts'
import { lazyPromise } from '../../routers/core/load/lazy-promise.ts'
import { runStatement } from '../../routers/core/run-statement.ts'
import type { JobHandlers, JobInputs, JobName, JobQueue, PlannedJob } from '../../routers/ports/job-queue.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { MetricsSample } from '../../routers/ports/metrics.ts'
import { recordWork, type Traces } from '../../routers/ports/traces.ts'
import { runInScope } from '../net/fault-scope.ts'

interface JobQueueOptions {
  pool: Pool
  log: Log
  traces?: Traces | undefined
  /** Seconds after which another replica takes over a job whose replica has died; at least 10. */
  heartbeat?: number
  /** Largest number of retries of a failed job. */
  retryLimit?: number
  /** Seconds until the first retry; later retries wait longer. */
  retryDelay?: number
  /** Seconds between two looks for jobs of other replicas and for retries; at least 0.5. */
  pollingInterval?: number
}

const SCHEMA = 'svc_jobs'
const WAKE_AFTER_MS = 100

const queueDefaults = { retryBackoff: true, retryDelayMax: 300, expireInSeconds: 900 }

const names: readonly JobName[] = [
  'extract-text',
  'read-knowledge',
  'embed-knowledge',
  'export-person',
  'revoke-accounts',
]
const failedQueueOf = (name: JobName) => `${name}.failed`

/** The job queue: pg-boss in its own schema of the service's database, over the pool of the service. */
export class DatabaseJobQueue implements JobQueue {
  readonly #boss: PgBoss
  readonly #parts: Pick<JobQueueOptions, 'log' | 'traces'>
  readonly #limits: { heartbeatSeconds: number; retryLimit: number; retryDelay: number }
  readonly #pollingInterval: number
  readonly #closing = new AbortController()
  /** Worker ids by queue name. */
  readonly #workers = new Map<string, string[]>()

  /** Creates the tables of the job queue if they are missing; throws if the database role lacks the right. */
  readonly prepare: () => Promise<void>

  constructor(options: JobQueueOptions) {
    const { pool, log, traces, heartbeat = 30, retryLimit = 5, retryDelay = 5, pollingInterval = 2 } = options
    const boss = createBoss({ pool, log, heartbeat })
    this.#boss = boss
    this.#parts = { log, traces }
    this.#limits = { heartbeatSeconds: heartbeat, retryLimit, retryDelay }
    this.#pollingInterval = pollingInterval
    this.prepare = lazyPromise(() => startBoss(boss))
  }

  async enqueue<Name extends JobName>(
    em: EntityManager,
    name: Name,
    { input, priority = 0, delaySeconds = 0 }: PlannedJob<Name>,
  ) {
    await this.prepare()
    await this.#boss.send(name, input, {
      ...this.#queueOptions(name),
      priority,
      startAfter: delaySeconds,
      db: createTransactionDatabase(em, `enqueue-${name}`),
    })
    const workers = this.#workers.get(name)
    if (!workers || delaySeconds > 0) return
    const wake = () => {
      for (const worker of workers) this.#boss.notifyWorker(worker)
    }
    setTimeout(wake, WAKE_AFTER_MS).unref()
  }

  async enqueueLost<Name extends JobName>(em: EntityManager, name: Name, inputs: readonly JobInputs[Name][]) {
    await this.prepare()
    const lost = await runStatement(em, findLostInputs, [[name, failedQueueOf(name)], JSON.stringify(inputs)])
    const jobs = lost.map(({ input }) => ({ ...this.#queueOptions(name), data: input }))
    if (jobs.length > 0) await this.#boss.insert(name, jobs, { db: createTransactionDatabase(em, '') })
    return jobs.length
  }

  /** Returns the number of jobs by name and state at all replicas, as pg-boss counted them last. */
  async count(): Promise<MetricsSample['jobs']> {
    await this.prepare()
    const queues = await this.#boss.getQueues([...names])
    return queues.flatMap(({ name: queue, queuedCount, activeCount, failedCount }) => [
      { queue, state: 'waiting' as const, count: queuedCount },
      { queue, state: 'running' as const, count: activeCount },
      { queue, state: 'failed' as const, count: failedCount },
    ])
  }

  /** Starts to run jobs, with the given concurrency for each name. */
  async work(handlers: JobHandlers, concurrency: Readonly<Record<JobName, number>>): Promise<void> {
    await this.prepare()
    for (const name of names) await this.#startWorkers(name, handlers, concurrency[name])
  }

  /** Starts no more jobs, aborts the running ones and waits for their end. Another replica runs them again. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#workers.keys()].map((name) => this.#boss.offWork(name, { wait: true })))
    await this.#boss.stop({ close: false })
  }

  async #startWorkers<Name extends JobName>(name: Name, handlers: JobHandlers, concurrency: number): Promise<void> {
    const { run, giveUp } = handlers[name]
    const { signal: closing } = this.#closing
    const work = createJobRunner<Name>(({ data, signal }) => run(data, AbortSignal.any([signal, closing])), this.#parts)
    const workFailed = createJobRunner<Name>(({ data }) => giveUp(data), this.#parts)
    for (let worker = 0; worker < concurrency; worker++) await this.#startWorker(name, work)
    await this.#startWorker(failedQueueOf(name), workFailed)
  }

  /** Starts a worker that looks for the next job as soon as it has ended one, and else polls. */
  async #startWorker<Input extends object>(queue: string, run: (jobs: Job<Input>[]) => Promise<void>): Promise<void> {
    const workers = this.#workers.get(queue) ?? []
    this.#workers.set(queue, workers)
    let id: string | undefined
    const runAndWake = async (jobs: Job<Input>[]) => {
      try {
        await run(jobs)
      } finally {
        if (id) this.#boss.notifyWorker(id)
      }
    }
    const options = {
      heartbeatRefreshSeconds: this.#limits.heartbeatSeconds / 3,
      pollingIntervalSeconds: this.#pollingInterval,
    }
    id = await this.#boss.work<Input>(queue, options, runAndWake)
    workers.push(id)
  }

  #queueOptions(name: JobName) {
    return { ...queueDefaults, ...this.#limits, deadLetter: failedQueueOf(name) }
  }
}

/** Largest delay of a timer of pg-boss, in milliseconds. */
const MAX_WAIT_MS = 600_000

/** The system clock with bounded timers: if the clock is set back, pg-boss would otherwise wait until it has caught up. */
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
  boss.on('error', (error) => log.error({ error }, 'the job queue failed'))
  boss.on('warning', (warning) => log.warn(warning, 'the job queue reports a warning'))
  return boss
}

async function startBoss(boss: PgBoss): Promise<void> {
  await boss.start().catch(rethrowSchemaError)
  const queues = names.flatMap((name) => [failedQueueOf(name), name])
  const existing = new Set((await boss.getQueues(queues)).map(({ name }) => name))
  for (const name of queues) if (!existing.has(name)) await boss.createQueue(name)
}

/** PostgreSQL's error code for insufficient privilege. */
const FORBIDDEN = '42501'

function rethrowSchemaError(cause: Error & { code?: unknown }): never {
  if (cause.code !== FORBIDDEN) throw cause
  const hint = 'Let an administrator run `grant create on database NAME to ROLE`.'
  throw new Error(`The jobs cannot have their schema ${SCHEMA}: ${cause.message}. ${hint}`, { cause })
}

/** Creates the function that runs jobs. The reason of a failure is only logged, because pg-boss would store it, and it may quote a file. */
const createJobRunner =
  <Name extends JobName>(
    work: (job: Job<JobInputs[Name]>) => Promise<unknown>,
    { log, traces }: Pick<JobQueueOptions, 'log' | 'traces'>,
  ) =>
  async (jobs: Job<JobInputs[Name]>[]): Promise<void> => {
    for (const job of jobs) {
      const record = () => recordWork(traces?.begin(`job ${job.name}`), () => work(job))
      await runInScope({ kind: 'job', names: { job: job.name } }, record).catch((error: Error) => {
        if (error.name !== 'AbortError') log.error({ name: job.name, error }, 'a job failed')
        throw new Error('The log says why.')
      })
    }
  }

/** Lets pg-boss run its statements in the transaction of an entity manager. */
const createTransactionDatabase = (em: EntityManager, name: string) => ({
  executeSql: async (text: string, values: unknown[] = []) => ({
    rows: await runStatement(em, statement(name, text), values),
  }),
})

/** Finds the inputs that have no unfinished job in these queues. Values: queue names, inputs as JSON. */
const findLostInputs = unboundedStatement<{ input: object }>(
  `select input from jsonb_array_elements($2::jsonb) input
    where not exists (select from ${SCHEMA}.job j
      where j.name = any($1::text[]) and j.state in ('created', 'retry', 'active') and j.data = input)`,
)
