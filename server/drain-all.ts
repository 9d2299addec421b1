import { setTimeout as pause } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Services } from '../routers/core/services.ts'
import type { Env } from './config/settings.ts'
import type { Drain } from './http/drain.ts'
import type { Realtime } from './realtime/index.ts'

const CLOSING_INTERVAL_MS = 250

interface Draining {
  env: Env
  services: Services
  app: FastifyInstance
  drain: Drain
  realtime: Realtime
}

/** Lets requests, sockets and streams end in their time, and closes what is left of them. */
export async function drainAll({ env, services, app, drain, realtime }: Draining): Promise<void> {
  const times = { delay: drainDelay(env), timeout: env.SHUTDOWN_TIMEOUT }
  const [finished] = await Promise.all([
    drain.start(times),
    realtime.drain(times),
    // Half of the time is for those that end last.
    services.subscriptions.drain(times.delay + times.timeout / 2),
  ])
  realtime.close()
  const closed = app.close()
  app.server.closeAllConnections()
  await closed
  // Requests that were cut off still write what they took.
  if (!finished) await pause(CLOSING_INTERVAL_MS)
}

/** Load balancers need a moment to see that readiness is gone; in development there are none. */
const drainDelay = ({ DRAIN_DELAY, NODE_ENV }: Env) => DRAIN_DELAY ?? (NODE_ENV === 'production' ? 5000 : 0)
