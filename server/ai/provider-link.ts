import type { Adapter } from '../../routers/ports/model-config.ts'
import type { CallableModel } from '../../routers/ports/models.ts'
import { createOutbound, type Outbound } from '../net/http-client.ts'
import { adapterDrivers } from './adapters.ts'
import type { ChatModel, Connection } from './chat-model.ts'
import { createGuard, type Guard } from './circuit.ts'

/** The standing connection to one provider: its models, its pool, and what is known of its health. */
export interface ProviderLink {
  model(modelId: string): ChatModel
  guarded: Guard
  connection: Connection
  adapter: Adapter
  close(): Promise<void>
}

export function createLink(model: CallableModel, apiKey: string | undefined): ProviderLink {
  const { providerId, apiUrl, providerSettings } = model
  const adapter = model.adapter as Adapter
  const { connect, firstByte = 60_000 } = providerSettings.timeouts ?? {}
  const outbound: Outbound = createOutbound({ connectTimeout: connect, byteTimeout: firstByte, reach: 'configured' })
  const { fetch, send } = outbound
  const connection: Connection = { name: providerId, apiUrl: apiUrl ?? undefined, apiKey, fetch, send }
  return {
    model: kept(adapterDrivers[adapter].model(connection)),
    guarded: createGuard(providerSettings.circuit),
    connection,
    adapter,
    close: outbound.close,
  }
}

/** Makes a model once per name: an SDK builds its schemas each time, which costs more than a call. */
function kept(make: (modelId: string) => ChatModel): (modelId: string) => ChatModel {
  const models = new Map<string, ChatModel>()
  return (modelId) => {
    const model = models.get(modelId) ?? make(modelId)
    models.set(modelId, model)
    return model
  }
}
