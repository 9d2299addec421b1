import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import type { Adapter } from '../../routers/ports/ai/adapters.ts'
import type { CallableProvider } from '../../routers/ports/ai/models.ts'
import type { Log } from '../../routers/ports/log.ts'
import { findCurrentSpan } from '../../routers/ports/traces.ts'
import { API_KEY, FURTHER_API_KEY, type Vault } from '../../routers/ports/vault.ts'
import { type FaultScope, iterateInScope, runOutboundCall } from '../net/fault-scope.ts'
import { createFetch, createHttpClient, type OutboundRequest } from '../net/http-client.ts'
import { adapterDrivers } from './adapters.ts'
import type { ChatModel, Connection, ModelConnection } from './chat-model.ts'
import { type CallerContext, CircuitBreaker, type CircuitEvents, isProviderFault } from './circuit.ts'
import type { OutageReports } from './outage-reports.ts'
import { toContentFilterFinish } from './provider-errors.ts'
import { restoreArguments } from './sanitize-parts.ts'
import { insertStoredFiles } from './stored-files.ts'

interface ClientEntry {
  source: ClientSource
  client: ProviderClient
  /** Number of calls that use this client now. */
  activeCalls: number
}

/** A client that is in use by one call until it is disposed. */
interface ClientLease extends Disposable {
  client: ProviderClient
}

export interface ProviderClientsOptions {
  vault: Vault
  log: Log
  outages: OutageReports
}

/**
 * Keeps one client for each provider until its configuration changes. Calls that use a replaced client still finish.
 */
export class ProviderClients {
  readonly #vault: Vault
  readonly #log: Log
  readonly #outages: OutageReports
  readonly #current = new Map<string, ClientEntry>()
  readonly #all = new Set<ClientEntry>()

  constructor({ vault, log, outages }: ProviderClientsOptions) {
    this.#vault = vault
    this.#log = log
    this.#outages = outages
  }

  acquire(provider: CallableProvider): ClientLease {
    const entry = this.#findOrCreate(provider)
    entry.activeCalls++
    const release = () => {
      entry.activeCalls--
      if (this.#current.get(provider.providerId) !== entry) this.#closeIfUnused(entry)
    }
    return { client: entry.client, [Symbol.dispose]: release }
  }

  /** Aborts running calls and closes all clients. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map(({ client }) => client.close()))
  }

  #findOrCreate(provider: CallableProvider): ClientEntry {
    const source = toClientSource(provider)
    const previous = this.#current.get(provider.providerId)
    if (previous && isSameSource(previous.source, source)) return previous
    const client = createProviderClient(provider, decryptServers(provider, this.#vault, this.#log), this.#outages)
    const entry = { source, client, activeCalls: 0 }
    this.#current.set(provider.providerId, entry)
    this.#all.add(entry)
    previous?.client.retire()
    if (previous) this.#closeIfUnused(previous)
    return entry
  }

  #closeIfUnused(entry: ClientEntry): void {
    if (entry.activeCalls > 0) return
    this.#all.delete(entry)
    void entry.client.close()
  }
}

type ClientSource = Omit<CallableProvider, 'providerId'>

const toClientSource = ({ adapter, apiUrl, apiKey, servers, providerSettings }: CallableProvider): ClientSource => ({
  adapter,
  apiUrl,
  apiKey,
  servers,
  providerSettings,
})

const isSameSource = (a: ClientSource, b: ClientSource) =>
  a.apiKey === b.apiKey &&
  a.apiUrl === b.apiUrl &&
  a.adapter === b.adapter &&
  isDeepStrictEqual([a.servers, a.providerSettings], [b.servers, b.providerSettings])

type ExtraMembers = ModelConnection['extraMembers']

/** Maximum number of cached models per provider. Changed parameters create a new one. */
const MAX_MODELS = 200

/** One server of a provider, with its models, connections and circuit breaker. */
export interface ProviderServer {
  model(modelId: string, extraMembers: ExtraMembers): ChatModel
  breaker: CircuitBreaker
  connection: Connection
  /** Number of running requests. */
  readonly activeRequests: number
  close(): Promise<void>
}

/** A provider with one or more servers. */
export interface ProviderClient {
  /** Calls the least busy healthy server. Tries the next one if it fails before any part of the answer has come. */
  attempt<T>(ask: (server: ProviderServer) => Promise<T>, caller: CallerContext): Promise<T>
  /**
   * Returns the least busy server with a closed circuit, for requests that no user waits for; undefined if there is
   * none.
   */
  findHealthyServer(): ProviderServer | undefined
  /** The server that lists the models. */
  connection: Connection
  adapter: Adapter
  /** Stops outage reports, because another client has replaced this one. */
  retire(): void
  close(): Promise<void>
}

interface ServerAddress {
  apiUrl: string | null
  /** The decrypted key. */
  apiKey: string | undefined
}

/**
 * Decrypts the API keys of a provider's servers. A server whose key cannot be decrypted is skipped, unless it is the
 * only one.
 */
function decryptServers(provider: CallableProvider, vault: Vault, log: Log): ServerAddress[] {
  const failures: unknown[] = []
  const encrypted = [
    { ...provider, purpose: API_KEY },
    ...provider.servers.map((server) => ({ ...server, purpose: FURTHER_API_KEY })),
  ]
  const servers = encrypted.flatMap(({ apiUrl, apiKey, purpose }) => {
    try {
      return [{ apiUrl, apiKey: apiKey ? vault.open(apiKey, purpose) : undefined }]
    } catch (error) {
      failures.push(error)
      return []
    }
  })
  if (servers.length === 0) throw failures[0]
  for (const error of failures)
    log.warn(
      { provider: provider.providerId, error },
      'a server of the AI provider is not used: its key cannot be opened',
    )
  return servers
}

function createProviderClient(
  provider: CallableProvider,
  addresses: readonly ServerAddress[],
  outages: OutageReports,
): ProviderClient {
  const outage = createOutageWatch(provider.providerId, outages)
  const onRetry = () => recordRetry(provider.providerId, outages)
  const events = { onChange: () => outage.update(servers), onAnswer: outage.recordAnswer, onRetry }
  const servers = addresses.map((address) => createServer(provider, address, events))
  const [{ connection }] = servers as [ProviderServer]
  return {
    connection,
    adapter: provider.adapter as Adapter,
    async attempt(ask, caller) {
      const [first, ...others] = orderServers(servers) as [ProviderServer, ...ProviderServer[]]
      let server = first
      for (const other of others) {
        try {
          return await server.breaker.run(() => ask(server), caller)
        } catch (error) {
          if (caller.signal.aborted || !isProviderFault(error)) throw error
          onRetry()
          server = other
        }
      }
      return server.breaker.runWithRetry(() => ask(server), caller)
    },
    findHealthyServer: () => sortByLoad(servers.filter(({ breaker }) => !breaker.isBroken))[0],
    retire: outage.retire,
    close: async () => void (await Promise.all(servers.map((server) => server.close()))),
  }
}

function recordRetry(provider: string, outages: OutageReports): void {
  outages.countRetry(provider)
  findCurrentSpan()?.addEvent('retry')
}

/** Reports when no server of a provider works any more, and when one works again. */
function createOutageWatch(provider: string, outages: OutageReports) {
  let isDown = false
  let isRetired = false
  const end = () => {
    if (isDown) outages.reportRecovery(provider)
    isDown = false
  }
  return {
    recordAnswer(startedAt: number) {
      if (!isRetired) outages.recordAnswer(provider, startedAt)
    },
    update(servers: readonly ProviderServer[]) {
      if (isRetired) return
      if (!servers.every(({ breaker }) => breaker.isBroken)) return end()
      isDown = true
      outages.reportOutage(provider, Math.max(...servers.map(({ breaker }) => breaker.openFor)))
    },
    retire() {
      end()
      isRetired = true
    },
  }
}

/**
 * Returns the healthy servers, the least busy first; all of them if none is healthy, so that their circuit breakers
 * throw the error.
 */
function orderServers(servers: readonly ProviderServer[]): ProviderServer[] {
  const healthy = servers.filter(({ breaker }) => !breaker.isRejecting)
  return sortByLoad(healthy.length > 0 ? healthy : servers)
}

const sortByLoad = (servers: readonly ProviderServer[]) =>
  servers.toSorted((a, b) => a.activeRequests - b.activeRequests)

function createServer(
  provider: CallableProvider,
  { apiUrl, apiKey }: ServerAddress,
  events: CircuitEvents,
): ProviderServer {
  const adapter = provider.adapter as Adapter
  const { timeouts: { connect, firstByte = 60_000 } = {}, continuousUsage = false, circuit } = provider.providerSettings
  const httpClient = createHttpClient({
    connectTimeout: connect,
    byteTimeout: firstByte,
    networkPolicy: 'configured',
  })
  const finishRequest = (request: OutboundRequest) => insertStoredFiles(restoreArguments(request))
  const send: Connection['send'] = (url, request) => httpClient.send(url, finishRequest(request))
  const connection: Connection = {
    apiUrl: apiUrl ?? undefined,
    apiKey,
    continuousUsage,
    fetch: createFetch(send),
    send,
    read: (url, request, watch) => httpClient.read(url, finishRequest(request), watch),
  }
  return {
    model: cacheModels((modelId, extraMembers) =>
      withFaultScope(withContentFilterFinish(adapterDrivers[adapter].model(modelId, { ...connection, extraMembers })), {
        provider: provider.providerId,
        model: modelId,
      }),
    ),
    breaker: new CircuitBreaker(circuit, events),
    connection,
    get activeRequests() {
      return httpClient.busy
    },
    close: httpClient.close,
  }
}

/** Caches models, because an SDK builds schemas for each of them, which takes longer than a call. */
function cacheModels(make: ProviderServer['model']): ProviderServer['model'] {
  const models = new LRUCache<string, ChatModel>({ max: MAX_MODELS })
  return (modelId, extraMembers) => {
    const key = `${modelId} ${JSON.stringify(extraMembers)}`
    const model = models.get(key) ?? make(modelId, extraMembers)
    models.set(key, model)
    return model
  }
}

/** Converts a content filter error before the answer to a regular end of the answer, as other providers send it. */
function withContentFilterFinish(model: ChatModel): ChatModel {
  return {
    doGenerate: async (options) => {
      try {
        return await model.doGenerate(options)
      } catch (error) {
        return { content: [], ...toContentFilterFinish(error) }
      }
    },
    doStream: (options) => model.doStream(options),
  }
}

/** Lets an error of a library end only the call that it came from. */
function withFaultScope(model: ChatModel, names: FaultScope['names']): ChatModel {
  return {
    doGenerate: (options) =>
      runOutboundCall(names, options.abortSignal, (abortSignal) => model.doGenerate({ ...options, abortSignal })),
    doStream: (options) =>
      runOutboundCall(names, options.abortSignal, async (abortSignal, scope) => {
        const { stream } = await model.doStream({ ...options, abortSignal })
        return { stream: iterateInScope(scope, stream) }
      }),
  }
}
