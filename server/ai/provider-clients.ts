import { isDeepStrictEqual } from 'node:util'
import { LRUCache } from 'lru-cache'
import type { Adapter } from '../../routers/ports/ai/adapters.ts'
import type { CallableProvider } from '../../routers/ports/ai/models.ts'
import type { Log } from '../../routers/ports/log.ts'
import { findCurrentSpan } from '../../routers/ports/traces.ts'
import { API_KEY, FURTHER_API_KEY, type Vault } from '../../routers/ports/vault.ts'
import { createFetch, createHttpClient, type OutboundRequest } from '../net/http-client.ts'
import { adapterDrivers } from './adapters.ts'
import type { ChatModel, Connection, ModelConnection } from './chat-model.ts'
import { type CallerContext, CircuitBreaker, type CircuitEvents, isProvidersFault } from './circuit.ts'
import type { OutageReports } from './outage-reports.ts'
import { toContentFilterFinish } from './provider-errors.ts'
import { restoreArguments } from './sanitize-parts.ts'
import { insertStoredFiles } from './stored-files.ts'

interface ClientEntry {
  source: ClientSource
  client: ProviderClient
  /** How many calls go by it. */
  activeCalls: number
}

/** A client as long as one call needs it. */
interface ClientLease extends Disposable {
  client: ProviderClient
}

export interface ProviderClientsOptions {
  vault: Vault
  log: Log
  outages: OutageReports
}

/** One client per provider, until its configuration changes. The calls that go by a replaced one are made to their end. */
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

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    await Promise.all([...this.#all].map(({ client }) => client.close()))
  }

  #findOrCreate(provider: CallableProvider): ClientEntry {
    const source = toClientSource(provider)
    const known = this.#current.get(provider.providerId)
    if (known && isSameSource(known.source, source)) return known
    const client = createProviderClient(provider, decryptServers(provider, this.#vault, this.#log), this.#outages)
    const entry = { source, client, activeCalls: 0 }
    this.#current.set(provider.providerId, entry)
    this.#all.add(entry)
    known?.client.retire()
    if (known) this.#closeIfUnused(known)
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

/** How many model clients are cached for one provider; a change of parameters makes a new one. */
const MAX_MODELS = 200

/** The standing connection to one server of a provider: its models, its pool, and what is known of its health. */
export interface ProviderServer {
  model(modelId: string, extraMembers: ExtraMembers): ChatModel
  breaker: CircuitBreaker
  connection: Connection
  /** How many requests are under way. */
  readonly activeRequests: number
  close(): Promise<void>
}

/** A provider, with one server or several. */
export interface ProviderClient {
  /** Asks a server that is well, the least busy one first; another one where it cannot answer and nothing of an answer has come. */
  attempt<T>(ask: (server: ProviderServer) => Promise<T>, caller: CallerContext): Promise<T>
  /** The least busy server of those whose circuits are closed, for what no call waits for; undefined where there is none. */
  findHealthyServer(): ProviderServer | undefined
  /** Where its models are listed. */
  connection: Connection
  adapter: Adapter
  /** Its provider has another client from here on, and what becomes of this one says nothing of the provider. */
  retire(): void
  close(): Promise<void>
}

interface ServerAddress {
  apiUrl: string | null
  /** As the server is sent it. */
  apiKey: string | undefined
}

/** The servers of a provider whose keys can be opened: the others of it answer in place of one whose key is lost. */
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
  model: CallableProvider,
  addresses: readonly ServerAddress[],
  outages: OutageReports,
): ProviderClient {
  const outage = createOutageWatch(model.providerId, outages)
  const onRetry = () => recordRetry(model.providerId, outages)
  const events = { onChange: () => outage.look(servers), onAnswer: outage.answered, onRetry }
  const servers = addresses.map((address) => createServer(model, address, events))
  const [{ connection }] = servers as [ProviderServer]
  return {
    connection,
    adapter: model.adapter as Adapter,
    async attempt(ask, caller) {
      const [first, ...others] = orderServers(servers) as [ProviderServer, ...ProviderServer[]]
      let server = first
      for (const other of others) {
        try {
          return await server.breaker.run(() => ask(server), caller)
        } catch (error) {
          if (caller.signal.aborted || !isProvidersFault(error)) throw error
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

/** Tells when a provider has no server left that answers, and when it has one again. */
function createOutageWatch(provider: string, outages: OutageReports) {
  let isDown = false
  let isRetired = false
  const end = () => {
    if (isDown) outages.reportRecovery(provider)
    isDown = false
  }
  return {
    answered(startedAt: number) {
      if (!isRetired) outages.recordAnswer(provider, startedAt)
    },
    look(servers: readonly ProviderServer[]) {
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

/** Those that are well, the least busy one first; where none is, all: their circuits say what failed. */
function orderServers(servers: readonly ProviderServer[]): ProviderServer[] {
  const healthy = servers.filter(({ breaker }) => !breaker.isRejecting)
  return sortByLoad(healthy.length > 0 ? healthy : servers)
}

const sortByLoad = (servers: readonly ProviderServer[]) =>
  servers.toSorted((a, b) => a.activeRequests - b.activeRequests)

function createServer(
  model: CallableProvider,
  { apiUrl, apiKey }: ServerAddress,
  events: CircuitEvents,
): ProviderServer {
  const adapter = model.adapter as Adapter
  const { timeouts: { connect, firstByte = 60_000 } = {}, continuousUsage = false, circuit } = model.providerSettings
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
      withContentFilterFinish(adapterDrivers[adapter].model(modelId, { ...connection, extraMembers })),
    ),
    breaker: new CircuitBreaker(circuit, events),
    connection,
    get activeRequests() {
      return httpClient.busy
    },
    close: httpClient.close,
  }
}

/** Caches model clients: an SDK builds schemas for each one, which takes longer than a call. */
function cacheModels(make: ProviderServer['model']): ProviderServer['model'] {
  const models = new LRUCache<string, ChatModel>({ max: MAX_MODELS })
  return (modelId, extraMembers) => {
    const key = `${modelId} ${JSON.stringify(extraMembers)}`
    const model = models.get(key) ?? make(modelId, extraMembers)
    models.set(key, model)
    return model
  }
}

/** A model whose provider may refuse a question before it answers: a whole answer ends so, as others tell it within theirs. */
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
