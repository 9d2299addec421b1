import { LRUCache } from 'lru-cache'
import type { Adapter } from '../../routers/ports/ai/model-config.ts'
import type { CallableModel } from '../../routers/ports/ai/models.ts'
import { createHttpClient, type HttpClient } from '../net/http-client.ts'
import { adapterDrivers } from './adapters.ts'
import type { ChatModel, Connection, ModelConnection } from './chat-model.ts'
import { createGuard, type Guard } from './circuit.ts'

type ExtraMembers = ModelConnection['extraMembers']

/** How many model clients are cached for one provider; a change of parameters makes a new one. */
const MAX_MODELS = 200

/** The standing connection to one provider: its models, its pool, and what is known of its health. */
export interface ProviderClient {
  model(modelId: string, extraMembers: ExtraMembers): ChatModel
  withRetryAndCircuit: Guard
  connection: Connection
  adapter: Adapter
  close(): Promise<void>
}

export function createProviderClient(model: CallableModel, apiKey: string | undefined): ProviderClient {
  const { providerId, apiUrl, providerSettings } = model
  const adapter = model.adapter as Adapter
  const { timeouts: { connect, firstByte = 60_000 } = {}, continuousUsage = false, circuit } = providerSettings
  const httpClient: HttpClient = createHttpClient({
    connectTimeout: connect,
    byteTimeout: firstByte,
    networkPolicy: 'configured',
  })
  const { fetch, send } = httpClient
  const connection: Connection = { name: providerId, apiUrl: apiUrl ?? undefined, apiKey, continuousUsage, fetch, send }
  return {
    model: memoize((modelId, extraMembers) => adapterDrivers[adapter].model(modelId, { ...connection, extraMembers })),
    withRetryAndCircuit: createGuard(circuit),
    connection,
    adapter,
    close: httpClient.close,
  }
}

/** Caches model clients: an SDK builds schemas for each one, which takes longer than a call. */
function memoize(make: ProviderClient['model']): ProviderClient['model'] {
  const models = new LRUCache<string, ChatModel>({ max: MAX_MODELS })
  return (modelId, extraMembers) => {
    const key = `${modelId} ${JSON.stringify(extraMembers)}`
    const model = models.get(key) ?? make(modelId, extraMembers)
    models.set(key, model)
    return model
  }
}
