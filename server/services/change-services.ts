import type { Sql } from '../../entities/sql/statement.ts'
import type { ChangeServices } from '../../routers/core/services.ts'
import type { ConcurrencyLimiter } from '../../routers/ports/concurrency-limiter.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { RoomDirectory } from '../../routers/ports/room-directory.ts'
import type { Env } from '../config/settings.ts'
import { createSubscriptions } from '../realtime/subscriptions.ts'
import { createChangeBus } from '../stores/change-bus.ts'
import { ChangeLogStreams } from '../stores/change-streams.ts'
import { createCredentialWatch } from '../stores/credential-watch.ts'
import { createNotifier } from '../stores/notifier.ts'
import type { RedisAddress } from '../stores/redis-connection.ts'
import { createRoomDirectory } from '../stores/room-directory.ts'

interface ChangeServiceOptions {
  env: Env
  sql: Sql
  log: Log
  redis: RedisAddress
  concurrencyLimiter: ConcurrencyLimiter
}

export interface ChangeParts {
  services: ChangeServices
  roomDirectory: RoomDirectory
  /** Stops all who follow changes; the bus stays open. */
  stop(): void
}

/** Creates the change bus and the services that stand on it. */
export async function createChangeServices(options: ChangeServiceOptions): Promise<ChangeParts> {
  const { env, sql, log, redis, concurrencyLimiter } = options
  const bus = await createChangeBus(redis, log)
  const streams = new ChangeLogStreams({ sql, bus, log })
  const credentials = createCredentialWatch({ sql, bus, log, sessionLifetime: env.SESSION_LIFETIME })
  const quotas = { max: env.SUBSCRIPTIONS_MAX, maxPerPerson: env.SUBSCRIPTIONS_PER_PERSON }
  const subscriptions = createSubscriptions({ credentials, limiter: concurrencyLimiter, ...quotas })
  return {
    services: { bus, streams, credentials, subscriptions, notifier: createNotifier(bus) },
    roomDirectory: createRoomDirectory(sql, bus),
    stop() {
      streams.close()
      credentials.close()
    },
  }
}
