import { mkdir, readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyBaseLogger } from 'fastify'
import { createContext, type Services } from '../routers/context.ts'
import { inTime } from '../routers/in-time.ts'
import { type Api, createCaller } from '../routers/index.ts'
import { buildApp } from './app.ts'
import { openEmbedded, type Use } from './data-dir.ts'
import { connect, type Database } from './database.ts'
import { createDrain } from './drain.ts'
import { migrate } from './migrate.ts'
import { type Composition, compose } from './services.ts'
import type { Env } from './settings.ts'

export interface ServiceOptions {
  env: Env
  log: FastifyBaseLogger
  temporaryDir?: string | undefined
}

/** Everything up to the edge: database at its newest schema, parts composed, and a way in for the host. */
export interface Core extends Composition {
  /** Calls procedures as somebody on the host. */
  host: Api
  /** The migrations that were applied on the way. */
  migrated: string[]
  /** Whether the database was empty before. */
  isNew: boolean
}

export async function openCore({ env, log, temporaryDir }: ServiceOptions, use: Use): Promise<Core> {
  await mkdir(env.DATA_DIR, { recursive: true })
  const embedded = env.DATABASE_URL ? undefined : await openEmbedded(env.DATA_DIR, use)
  const url = env.DATABASE_URL ?? embedded?.url ?? ''
  let database: Database | undefined
  try {
    database = await connect({ url, poolSize: env.DATABASE_POOL })
    const { applied, aiUserCreated } = await migrate(database, url, { name: env.SVC_NAME, username: env.SVC_USERNAME })
    const composition = await compose({ env, database, log, temporaryDir })
    const host = hostCaller(composition.services)
    if (aiUserCreated && env.SVC_AVATAR)
      await host.admin.updateAiAvatar({ image: await readFile(env.SVC_AVATAR, 'base64') })
    const close = async () => {
      await patiently(composition.close(), log)
      await patiently(database?.close(), log)
      await embedded?.release()
    }
    return { ...composition, migrated: applied, isNew: aiUserCreated, host, close }
  } catch (error) {
    await database?.close()
    await embedded?.release()
    throw error
  }
}

/** A part that cannot be closed must not keep the others open. */
async function patiently(closing: Promise<void> | undefined, log: FastifyBaseLogger): Promise<void> {
  await inTime(closing, 10_000).catch((error: unknown) => log.error({ error }, 'a part did not close'))
}

/** Each call has a context of its own: what one leaves in its entity manager is no concern of the next. */
const hostCaller = (services: Services): Api =>
  createCaller(() => createContext(services, { origin: 'host', requestId: 'host' }))

export interface Service extends Core {
  url: string
  /** Stops taking requests, waits for those under way, then closes everything. */
  stop(): Promise<void>
}

const WIND_UP = 250

export async function startService(options: ServiceOptions): Promise<Service> {
  const { env, log } = options
  const core = await openCore(options, 'service')
  try {
    log.info(await core.host.models.sync(), 'models synchronised')
    await core.host.migrations.register()
    const drain = createDrain()
    const { services, callers } = core
    const app = await buildApp({ env, log, services, callers, drain })
    drain.watch(app.server)
    const url = await app.listen({ port: env.PORT, host: env.HOST }).catch(explain)
    const stop = async () => {
      const finished = await drain.start({ delay: drainDelay(env), timeout: env.SHUTDOWN_TIMEOUT })
      const closed = app.close()
      app.server.closeAllConnections()
      await closed
      // What was cut still puts down what it took.
      if (!finished) await pause(WIND_UP)
      await core.close()
    }
    return { ...core, url, stop }
  } catch (error) {
    await core.close()
    throw error
  }
}

/** Load balancers need a moment to see that readiness is gone; in development there are none. */
const drainDelay = ({ DRAIN_DELAY, NODE_ENV }: Env) => DRAIN_DELAY ?? (NODE_ENV === 'production' ? 5000 : 0)

function explain(error: NodeJS.ErrnoException & { port?: number; address?: string }): never {
  if (error.code !== 'EADDRINUSE') throw error
  throw new Error(`Port ${error.port} of ${error.address} is taken. Set PORT to another.`, { cause: error })
}
