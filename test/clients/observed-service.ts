import { join } from 'node:path'
import { readEnv } from '../../server/config/env.ts'
import { openLog } from '../../server/ops/log.ts'
import { StandardOutput } from '../../server/ops/standard-output.ts'
import { startService } from '../../server/service.ts'
import { PROVIDER_KEY } from '../kit/ai/protocols.ts'
import { refuses, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { listToolNames, startRequestLog } from './request-log.ts'

/** Names of the models that the clients ask, by the adapter that reaches them. */
export type Models = Partial<Record<'anthropic' | 'openai' | 'openai-compatible', readonly string[]>>

const abilities = { external: true, input: ['text', 'image'] }
const searches: Record<string, readonly string[]> = { anthropic: ['web_search'], openai: ['web_search'] }

/** Starts the service with scripted models and a person, and a proxy before it that logs the requests. */
export async function startObservedService(folder: string, models: Models) {
  await using starting = new AsyncDisposableStack()
  const provider = starting.use(await startProvider(refuses(500)))
  const config = starting.use(await writeConfig(provider.url))
  const providers = Object.entries(models).map(([adapter, names]) => ({
    id: adapter,
    adapter,
    apiUrl: `${provider.url}/${adapter}`,
    apiKey: PROVIDER_KEY,
    models: names.map((name) => ({ id: name, upstreamId: name, ...abilities, nativeCapabilities: searches[adapter] })),
  }))
  await config.write({ providers, systemModels: {} })
  const env = readEnv({ DATA_DIR: join(folder, 'data'), PORT: '0', AI_CONFIG: config.file, LOG_LEVEL: 'fatal' })
  const { log, telemetry } = await openLog(env, new StandardOutput())
  const service = await startService({ env, log, telemetry, temporaryDir: folder })
  starting.defer(async () => void (await service.stop()))
  const { id } = await service.host.admin.addUser({ username: 'ann', email: 'ann@example.org', name: 'Ann' })
  const { token } = await service.host.tokens.createFor({ user: { id }, name: 'clients' })
  const proxy = starting.use(await startRequestLog(service.url))
  const resources = starting.move()
  return {
    url: proxy.url,
    token,
    provider,
    /** Returns the requests since the last call, and the names of the tools that reached a model. */
    takeRequests() {
      const reached = new Set(provider.requests.splice(0).flatMap(({ body }) => listToolNames(body)))
      return { requests: proxy.requests.splice(0), reached }
    },
    [Symbol.asyncDispose]: () => resources.disposeAsync(),
  }
}
