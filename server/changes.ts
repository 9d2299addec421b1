import type { Sql } from '../entities/sql/statement.ts'
import type { Log } from '../routers/ports/log.ts'
import type { Places } from '../routers/ports/places.ts'
import type { Env } from './config/settings.ts'
import { createSubscriptions } from './realtime/subscriptions.ts'
import { createChangeBus } from './stores/change-bus.ts'
import { LoggedStreams } from './stores/change-streams.ts'
import { watchCredentials } from './stores/credential-watch.ts'
import { createNotifier } from './stores/notifier.ts'
import { createRoomDirectory } from './stores/room-directory.ts'

interface ChangeParts {
  env: Env
  sql: Sql
  log: Log
  places: Places
}

/** What carries changes to those who follow them, and what says who still may. */
export async function followChanges({ env, sql, log, places }: ChangeParts) {
  const changeBus = await createChangeBus(env.REDIS_URL, log)
  const changeStreams = new LoggedStreams({ sql, bus: changeBus, log })
  const credentials = watchCredentials({ sql, bus: changeBus, sessionLifetime: env.SESSION_LIFETIME })
  const quotas = { max: env.SUBSCRIPTIONS_MAX, maxPerPerson: env.SUBSCRIPTIONS_PER_PERSON }
  const subscriptions = createSubscriptions({ credentials, places, ...quotas })
  const roomDirectory = createRoomDirectory(sql, changeBus)
  const notifier = createNotifier(changeBus)
  const close = () => {
    changeStreams.close()
    credentials.close()
  }
  return { changeBus, changeStreams, credentials, notifier, roomDirectory, subscriptions, close }
}
