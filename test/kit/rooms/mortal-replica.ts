import { send } from '../app.ts'
import { createApiClient } from '../json-api/client.ts'
import { type OnSent, startRelay } from '../parts/relay.ts'
import { createDataFolder, startProcess } from '../service-process.ts'
import type { RoomAiApp } from './ai.ts'

/** Starts another replica as a process that can be killed at a given statement. */
export async function startMortalReplica(app: RoomAiApp, shared: Record<string, string>) {
  await using resources = new AsyncDisposableStack()
  const { DATABASE_URL, AI_CONFIG } = app.svc.env
  const database = new URL(String(DATABASE_URL))
  let onSent: OnSent | undefined
  const relay = resources.use(await startRelay(Number(database.port), { onSent: (...piece) => onSent?.(...piece) }))
  database.host = `127.0.0.1:${relay.port}`
  const folder = resources.use(await createDataFolder())
  const settings = { ...shared, DATA_DIR: folder.path, PORT: '0', DATABASE_URL: database.href, NODE_ENV: 'development' }
  const programs = { AI_CONFIG: String(AI_CONFIG), ALLOW_EXTERNAL_APPS_GROUPS_AI: 'true' }
  const service = resources.use(startProcess({ ...settings, ...programs }))
  const url = await service.ready()
  const disposables = resources.move()
  return {
    url,
    service,
    /** Creates a client of this replica. */
    as: (token: string) =>
      createApiClient({ send: (method, path, options) => send(url, method, path, options) }, token),
    /** Kills it at a matching statement, which the database receives or not. */
    killAt(word: RegExp, passOn: boolean) {
      onSent = (piece) => {
        if (!word.test(piece.toString('latin1'))) return undefined
        service.kill('SIGKILL')
        return passOn ? undefined : 'hold'
      }
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}
