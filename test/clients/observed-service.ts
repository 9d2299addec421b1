import { join } from 'node:path'
import { readEnv } from '../../server/config/env.ts'
import { putAccount } from '../../server/login/accounts.ts'
import { openLog } from '../../server/ops/log.ts'
import { StandardOutput } from '../../server/ops/standard-output.ts'
import { startService } from '../../server/service.ts'
import { PROVIDER_KEY } from '../kit/ai/protocols.ts'
import { refuses, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { openBrowser } from '../kit/browser.ts'
import { findFreePort } from '../kit/free-port.ts'
import { makePublicKey } from '../kit/identity/people.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { startBrowserCommand } from '../kit/oauth/consenting-browser.ts'
import { listToolNames, startRequestLog } from './request-log.ts'

/** Names of the models that the clients ask, by the adapter that reaches them. */
export type Models = Partial<Record<'anthropic' | 'openai' | 'openai-compatible', readonly string[]>>

const abilities = { external: true, input: ['text', 'image'] }
const searches: Record<string, readonly string[]> = { anthropic: ['web_search'], openai: ['web_search'] }

const person = { username: 'ann', email: 'ann@example.org', name: 'Ann' }
const PASSWORD = 'a long enough password'

/**
 * Starts the service with scripted models, a tool server, and a person with a browser. A proxy before it logs the requests;
 * its address is that of the service, which programs compare when they sign in.
 */
export async function startObservedService(folder: string, models: Models) {
  await using starting = new AsyncDisposableStack()
  const provider = starting.use(await startProvider(refuses(500)))
  const toolServer = starting.use(await startToolServer([buildTool('search')]))
  const config = starting.use(await writeConfig(provider.url))
  const providers = Object.entries(models).map(([adapter, names]) => ({
    id: adapter,
    adapter,
    apiUrl: `${provider.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models: names.map((name) => ({ id: name, upstreamId: name, ...abilities, nativeCapabilities: searches[adapter] })),
  }))
  await config.write({ providers, systemModels: {}, mcpServers: [{ label: 'Library', url: toolServer.url }] })
  const port = await findFreePort()
  const proxy = starting.use(await startRequestLog(`http://127.0.0.1:${port}`))
  const env = readEnv({
    DATA_DIR: join(folder, 'data'),
    PORT: `${port}`,
    BASE_URL: proxy.url,
    AI_CONFIG: config.file,
    LOG_LEVEL: 'fatal',
  })
  await putAccount(join(folder, 'data/accounts.json'), person, PASSWORD)
  const { log, telemetry } = await openLog(env, new StandardOutput())
  const service = await startService({ env, log, telemetry, temporaryDir: folder })
  starting.defer(async () => void (await service.stop()))
  const run = (text: string, values: unknown[] = []) => service.services.sql({ name: '', text }, values)
  const { id } = await service.host.admin.addUser(person)
  await run('update users set public_key = $1 where id = $2', [makePublicKey(person.username), id])
  const token = await service.host.tokens.createFor({ user: { id }, name: 'clients', abilities: ['ai', 'mcp'] })
  await service.host.mcp.sync()
  for (const { name, hash } of await service.host.mcp.tools()) await service.host.mcp.approve({ name, hash })
  const window = openBrowser(proxy.url)
  const { status, text } = await window.login(person.username, PASSWORD)
  if (status !== 200) throw new Error(text)
  const browser = starting.use(await startBrowserCommand(window))
  const resources = starting.move()
  return {
    url: proxy.url,
    token: token.token,
    provider,
    browser,
    /** Returns the input of the calls that have reached the tool server since the last call. */
    takeCalls: () =>
      toolServer.seen.splice(0).flatMap(({ method, params }) => (method === 'tools/call' ? [params?.arguments] : [])),
    /** Ends the access tokens of programs as their time does. */
    async endAccessTokens(): Promise<void> {
      await run(`update access_tokens set expires_at = now() - interval '1 second' where holder = 'program'`)
    },
    /** Returns the requests since the last call, and the names of the tools that reached a model. */
    takeRequests() {
      const reached = new Set(provider.requests.splice(0).flatMap(({ body }) => listToolNames(body)))
      return { requests: proxy.requests.splice(0), reached }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
