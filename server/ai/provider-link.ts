import { APICallError } from '@ai-sdk/provider'
import {
  ConsecutiveBreaker,
  circuitBreaker,
  ExponentialBackoff,
  handleWhen,
  type IPolicy,
  retry,
  wrap,
} from 'cockatiel'
import type { ProviderSettings } from '../../entities/ai-provider.ts'
import type { Adapter } from '../../routers/model-config.ts'
import type { CallableModel } from '../../routers/model-gateway.ts'
import { createOutbound, type Outbound } from '../outbound.ts'
import { adapterDrivers, type ChatModel, type Connection } from './adapters.ts'

/** The standing connection to one provider: its models, its pool, and what is known of its health. */
export interface ProviderLink {
  model(modelId: string): ChatModel
  /** Runs what has sent nothing to the caller yet: a short failure is tried again, a provider that keeps failing is skipped. */
  guarded<T>(attempt: () => Promise<T>, signal: AbortSignal): Promise<T>
  /** Milliseconds for a whole call. */
  total: number
  connection: Connection
  adapter: Adapter
  close(): Promise<void>
}

export function createLink(model: CallableModel, apiKey: string | undefined): ProviderLink {
  const { providerId, apiUrl, providerSettings } = model
  const adapter = model.adapter as Adapter
  const { connect, firstByte = 60_000, total = 300_000 } = providerSettings.timeouts ?? {}
  const outbound: Outbound = createOutbound({ connectTimeout: connect, byteTimeout: firstByte, reach: 'configured' })
  const { fetch, send } = outbound
  const connection: Connection = { name: providerId, apiUrl: apiUrl ?? undefined, apiKey, fetch, send }
  const policy = createPolicy(providerSettings.circuit)
  return {
    model: kept(adapterDrivers[adapter].model(connection)),
    guarded: (attempt, signal) => policy.execute(attempt, signal),
    total,
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

function createPolicy({ failures = 5, openFor = 15_000 }: ProviderSettings['circuit'] = {}): IPolicy {
  const again = retry(handleWhen(isPassing), {
    maxAttempts: 2,
    // Decorrelated jitter is its default.
    backoff: new ExponentialBackoff({ initialDelay: 100, maxDelay: 2000 }),
  })
  const circuit = circuitBreaker(handleWhen(isProvidersFault), {
    halfOpenAfter: openFor,
    breaker: new ConsecutiveBreaker(failures),
  })
  return wrap(again, circuit)
}

const passingStatus = new Set([408, 425, 429, 500, 502, 503, 504])
const passingCodes = new Set(['ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'EAI_AGAIN', 'UND_ERR_SOCKET'])

/** Worth another try at once. A time-out is not: it took its time already. */
function isPassing(error: unknown): boolean {
  if (APICallError.isInstance(error) && error.statusCode) return passingStatus.has(error.statusCode)
  return passingCodes.has(networkCode(error) ?? '')
}

/** Says something about the provider, not about the question or about a caller who went away. */
function isProvidersFault(error: unknown): boolean {
  if ((error as Partial<Error> | undefined)?.name === 'AbortError') return false
  const status = APICallError.isInstance(error) ? error.statusCode : undefined
  return status === undefined || status >= 500 || status < 400 || [401, 403, 408, 425, 429].includes(status)
}

/** The system's or the pool's word for what happened, wherever in the chain of causes it stands. */
export function networkCode(error: unknown): string | undefined {
  const { code, cause } = (error ?? {}) as { code?: unknown; cause?: unknown }
  return typeof code === 'string' ? code : cause ? networkCode(cause) : undefined
}
