import { type Ability, abilities } from '../../entities/identity/access-token.ts'
import { readEnv } from '../../server/config/env.ts'
import { openLog } from '../../server/ops/log.ts'
import { StandardOutput } from '../../server/ops/standard-output.ts'
import { type Service, startService } from '../../server/service.ts'
import { servePart } from './serve.ts'

export interface SubjectInput {
  /** Settings, as in the environment. */
  settings: Record<string, string>
  /** For files that must not be shared with a service of this machine. */
  temporaryDir: string
  /** True makes the callers administrators with tokens for everything. */
  isAdministrator?: boolean
  /** The abilities of their tokens, if not the usual ones. */
  abilities?: readonly Ability[]
  /** True approves all tools of the tool servers. */
  approvesTools?: boolean
}

/** More callers than concurrent requests in most rounds, so that hardly any two share a look-up. */
const CALLERS = 40

/** The service as `npm start` runs it, with people and tokens to call it with. */
servePart(async ({ settings, temporaryDir, isAdministrator, abilities: own, approvesTools }: SubjectInput) => {
  const env = readEnv({ AI_CALLS_PER_PERSON: '1000', ...settings })
  const { log, telemetry } = await openLog(env, new StandardOutput())
  const service = await startService({ env, log, telemetry, temporaryDir })
  const tokens: string[] = []
  for (let index = 0; index < CALLERS; index++) {
    const person = { username: `bench${index}`, email: `bench${index}@example.org`, name: 'Bench' }
    const { id } = await service.host.admin.addUser(person)
    if (isAdministrator) await service.host.admin.setRole({ user: { id }, role: 'admin' })
    const chosen = isAdministrator ? abilities : own
    const wanted = { user: { id }, name: 'bench', ...(chosen && { abilities: [...chosen] }) }
    tokens.push((await service.host.tokens.createFor(wanted)).token)
  }
  if (approvesTools) await approveTools(service)
  // Keys make them users in a session, too.
  await service.services.sql({
    name: '',
    text: `update users set public_key = 'a2V5' where public_key is null and id > 1`,
  })
  const [token = ''] = tokens
  return { ready: { url: service.url, token, tokens: tokens.join(' ') }, stop: service.stop }
})

/** Approves all tools: all but one by a statement, because each approval is a transaction; the last one announces the change. */
async function approveTools({ host: { mcp }, services }: Service): Promise<void> {
  await mcp.sync()
  await services.sql({
    name: '',
    text: 'update ai_tools set active = true, approved = mcp_config where id > (select min(id) from ai_tools)',
  })
  for (const { name, hash, isApproved } of await mcp.tools()) if (!isApproved) await mcp.approve({ name, hash })
}
