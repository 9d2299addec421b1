import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { inject } from 'vitest'
import { startCluster } from '../../../server/database/embedded-postgres.ts'
import { startApp } from '../app.ts'
import { cloneDatabase } from '../database.ts'
import { redisDatabaseUrl } from '../parts/redis.ts'
import { startRelay } from '../parts/relay.ts'
import { createDataFolder, startProcess } from '../service-process.ts'
import type { Operation, Sample } from './limit-history.ts'
import { answers, buildQuestion, startProvider, writeConfig } from './provider.ts'

/** A thousandth of a euro per input token, and twice as much per output token. */
const price = { currency: 'EUR', inputPerMillion: 1000, outputPerMillion: 2000 }

/** Token counts that the provider reports for an answer. */
const countTokens = () => ({ prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 })

/** Starts a slow provider, a relay before Redis, and returns the settings that all replicas share. */
async function openSurroundings(resources: AsyncDisposableStack, databaseUrl: string, tokens: typeof countTokens) {
  const provider = resources.use(
    await startProvider(async (providerRequest, response) => {
      await pause(20 + Math.random() * 300)
      await answers('Good day.', undefined, tokens())(providerRequest, response)
    }),
  )
  const config = resources.use(await writeConfig(provider.url, { model: { pricing: price } }))
  const redis = inject('redisUrl') ? new URL(redisDatabaseUrl(13)) : undefined
  const relay = redis && resources.use(await startRelay(Number(redis.port || 6379)))
  if (redis && relay) redis.host = `127.0.0.1:${relay.port}`
  const settings = {
    DATABASE_URL: databaseUrl,
    APP_KEY: randomBytes(32).toString('base64'),
    AI_CONFIG: config.file,
    LIMITS_MAX_OUTPUT_TOKENS: '100',
    ...(redis && { REDIS_URL: redis.href }),
  }
  return { provider, relay, settings }
}

/** Starts replicas in this process, over one database and one Redis: they start sooner than processes, and nobody can kill them. */
export async function startLasting(count: number, tokens: typeof countTokens = countTokens) {
  await using resources = new AsyncDisposableStack()
  const database = resources.use(await cloneDatabase())
  const { provider, settings } = await openSurroundings(resources, database.url, tokens)
  const svc = resources.use(await startApp(settings))
  const replicas = [svc]
  while (replicas.length < count) replicas.push(resources.use(await startApp(settings)))
  const disposables = resources.move()
  return { svc, provider, replicas, [Symbol.asyncDispose]: () => disposables.disposeAsync() }
}

/** Starts replicas as processes over a PostgreSQL of their own and one Redis, of which each can fail. */
export async function startReplicas(count: number) {
  await using resources = new AsyncDisposableStack()
  const folder = resources.use(await createDataFolder())
  const cluster = await startCluster(join(folder.path, 'postgres'))
  const port = Number(new URL(cluster.url).port)
  const { provider, relay, settings } = await openSurroundings(resources, cluster.url, countTokens)
  const svc = resources.use(await startApp(settings))
  let owner: AsyncDisposableStack = resources
  const start = async () => {
    const own = owner.use(await createDataFolder())
    const replica = owner.use(startProcess({ ...settings, DATA_DIR: own.path, PORT: '0', NODE_ENV: 'development' }))
    return { replica, url: await replica.ready() }
  }
  const replicas = await Promise.all(Array.from({ length: count }, start))
  const disposables = resources.move()
  owner = disposables
  return {
    svc,
    provider,
    replicas,
    async kill(index: number) {
      replicas[index]?.replica.kill('SIGKILL')
      await replicas[index]?.replica.ended
    },
    async restart(index: number) {
      replicas[index] = await start()
    },
    /** Kills PostgreSQL and starts it again. */
    async crashDatabase() {
      process.kill((await folder.postgres()) ?? 0, 'SIGKILL')
      await startCluster(join(folder.path, 'postgres'), [], port)
    },
    async loseRedis() {
      relay?.cut()
      await pause(500)
      relay?.mend()
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

export type Replicas = Awaited<ReturnType<typeof startReplicas>>

/** Sends a question and records its outcome. */
export async function recordQuestion(url: string, token: string): Promise<Operation & { code?: string | undefined }> {
  const startedAt = performance.now()
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const request = { method: 'POST', headers, body: JSON.stringify(buildQuestion()) }
  try {
    const response = await fetch(`${url}/api/ai-req`, request)
    const { code } = (await response.json()) as { code?: string }
    const requestId = response.headers.get('x-request-id') ?? undefined
    return { startedAt, endedAt: performance.now(), outcome: toOutcome(response.status), requestId, code }
  } catch {
    return { startedAt, endedAt: performance.now(), outcome: 'unknown' }
  }
}

function toOutcome(status: number): Operation['outcome'] {
  if (status === 200) return 'answered'
  return status === 429 ? 'refused' : 'failed'
}

/** Reads the state of a limit from the database. */
export async function readSample({ svc }: Pick<Replicas, 'svc'>, name: string): Promise<Sample | undefined> {
  const [sample] = await svc.rows<Sample>(
    `select c.used::int as used, c.held::int as held, (l.cap + c.topped_up)::int as cap,
            (select count(*) from usage_holds where lease_until < now() - interval '1 minute')::int as outlived
       from usage_limits l join usage_counters c on c.limit_id = l.id where l.name = $1`,
    [name],
  )
  return sample
}
