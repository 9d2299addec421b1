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
import { type Attempting, type CircuitEvents, Guard, isProvidersFault } from './circuit.ts'
import type { OutageReports } from './outage-reports.ts'
import { toContentFilterFinish } from './provider-errors.ts'
import { withArguments } from './sanitize-parts.ts'
import { withStoredFiles } from './stored-files.ts'

interface KeptClient {
  of: ClientSource
  client: ProviderClient
  /** How many calls go by it. */
  calls: number
}

/** A client as long as one call needs it. */
interface TakenClient extends Disposable {
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
  readonly #current = new Map<string, KeptClient>()
  readonly #open = new Set<KeptClient>()

  constructor({ vault, log, outages }: ProviderClientsOptions) {
    this.#vault = vault
    this.#log = log
    this.#outages = outages
  }

  take(provider: CallableProvider): TakenClient {
    const kept = this.#keptFor(provider)
    kept.calls++
    const letGo = () => {
      kept.calls--
      if (this.#current.get(provider.providerId) !== kept) this.#closeUnused(kept)
    }
    return { client: kept.client, [Symbol.dispose]: letGo }
  }

  /** Breaks off what is under way. */
  async close(): Promise<void> {
    await Promise.all([...this.#open].map(({ client }) => client.close()))
  }

  #keptFor(provider: CallableProvider): KeptClient {
    const of = toClientSource(provider)
    const known = this.#current.get(provider.providerId)
    if (known && isSame(known.of, of)) return known
    const client = createProviderClient(provider, openServers(provider, this.#vault, this.#log), this.#outages)
    const kept = { of, client, calls: 0 }
    this.#current.set(provider.providerId, kept)
    this.#open.add(kept)
    known?.client.retire()
    if (known) this.#closeUnused(known)
    return kept
  }

  #closeUnused(kept: KeptClient): void {
    if (kept.calls > 0) return
    this.#open.delete(kept)
    void kept.client.close()
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

const isSame = (a: ClientSource, b: ClientSource) =>
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
  guard: Guard
  connection: Connection
  /** How many requests are under way. */
  readonly busy: number
  close(): Promise<void>
}

/** A provider, with one server or several. */
export interface ProviderClient {
  /** Asks a server that is well, the least busy one first; another one where it cannot answer and nothing of an answer has come. */
  attempt<T>(ask: (server: ProviderServer) => Promise<T>, by: Attempting): Promise<T>
  /** The least busy server of those whose circuits are closed, for what no call waits for; undefined where there is none. */
  findWell(): ProviderServer | undefined
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
function openServers(provider: CallableProvider, vault: Vault, log: Log): ServerAddress[] {
  const failures: unknown[] = []
  const sealed = [
    { ...provider, purpose: API_KEY },
    ...provider.servers.map((server) => ({ ...server, purpose: FURTHER_API_KEY })),
  ]
  const servers = sealed.flatMap(({ apiUrl, apiKey, purpose }) => {
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
  const outage = watchOutage(model.providerId, outages)
  const onRetry = () => noteRetry(model.providerId, outages)
  const events = { onChange: () => outage.look(servers), onAnswer: outage.answered, onRetry }
  const servers = addresses.map((address) => createServer(model, address, events))
  const [{ connection }] = servers as [ProviderServer]
  return {
    connection,
    adapter: model.adapter as Adapter,
    async attempt(ask, by) {
      const [first, ...others] = askable(servers) as [ProviderServer, ...ProviderServer[]]
      let server = first
      for (const other of others) {
        try {
          return await server.guard.once(() => ask(server), by)
        } catch (error) {
          if (by.signal.aborted || !isProvidersFault(error)) throw error
          onRetry()
          server = other
        }
      }
      return server.guard.retrying(() => ask(server), by)
    },
    findWell: () => leastBusy(servers.filter(({ guard }) => !guard.isBroken))[0],
    retire: outage.retire,
    close: async () => void (await Promise.all(servers.map((server) => server.close()))),
  }
}

function noteRetry(provider: string, outages: OutageReports): void {
  outages.countRetry(provider)
  findCurrentSpan()?.addEvent('retry')
}

/** Tells when a provider has no server left that answers, and when it has one again. */
function watchOutage(provider: string, outages: OutageReports) {
  let isLost = false
  let isRetired = false
  const end = () => {
    if (isLost) outages.ended(provider)
    isLost = false
  }
  return {
    answered(begun: number) {
      if (!isRetired) outages.answered(provider, begun)
    },
    look(servers: readonly ProviderServer[]) {
      if (isRetired) return
      if (!servers.every(({ guard }) => guard.isBroken)) return end()
      isLost = true
      outages.began(provider, Math.max(...servers.map(({ guard }) => guard.openFor)))
    },
    retire() {
      end()
      isRetired = true
    },
  }
}

/** Those that are well, the least busy one first; where none is, all: their circuits say what failed. */
function askable(servers: readonly ProviderServer[]): ProviderServer[] {
  const well = servers.filter(({ guard }) => !guard.isOpen)
  return leastBusy(well.length > 0 ? well : servers)
}

const leastBusy = (servers: readonly ProviderServer[]) => servers.toSorted((a, b) => a.busy - b.busy)

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
  const finished = (request: OutboundRequest) => withStoredFiles(withArguments(request))
  const send: Connection['send'] = (url, request) => httpClient.send(url, finished(request))
  const connection: Connection = {
    apiUrl: apiUrl ?? undefined,
    apiKey,
    continuousUsage,
    fetch: createFetch(send),
    send,
    read: (url, request, watch) => httpClient.read(url, finished(request), watch),
  }
  return {
    model: memoize((modelId, extraMembers) =>
      withRefusalFinish(adapterDrivers[adapter].model(modelId, { ...connection, extraMembers })),
    ),
    guard: new Guard(circuit, events),
    connection,
    get busy() {
      return httpClient.busy
    },
    close: httpClient.close,
  }
}

/** Caches model clients: an SDK builds schemas for each one, which takes longer than a call. */
function memoize(make: ProviderServer['model']): ProviderServer['model'] {
  const models = new LRUCache<string, ChatModel>({ max: MAX_MODELS })
  return (modelId, extraMembers) => {
    const key = `${modelId} ${JSON.stringify(extraMembers)}`
    const model = models.get(key) ?? make(modelId, extraMembers)
    models.set(key, model)
    return model
  }
}

/** A model whose provider may refuse a question before it answers: a whole answer ends so, as others tell it within theirs. */
function withRefusalFinish(model: ChatModel): ChatModel {
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
