import { readEnv } from '../../server/env.ts'
import { createLog } from '../../server/log.ts'
import { startService } from '../../server/service.ts'
import { servePart } from './serve.ts'

export interface SubjectInput {
  /** As in the environment. */
  settings: Record<string, string>
  /** For files that must not be shared with a service of this machine. */
  temporaryDir: string
}

/** The service as `npm start` runs it, with a user and a token to call it with. */
servePart(async ({ settings, temporaryDir }: SubjectInput) => {
  const env = readEnv(settings)
  const service = await startService({ env, log: createLog(env.LOG_LEVEL), temporaryDir })
  const person = { username: 'bench', email: 'bench@example.org', name: 'Bench' }
  const { id } = await service.host.admin.addUser(person)
  const { token } = await service.host.tokens.createFor({ user: { id }, name: 'bench' })
  return { ready: { url: service.url, token }, stop: service.stop }
})
