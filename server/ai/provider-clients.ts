import { isDeepStrictEqual } from 'node:util'
import type { CallableProvider } from '../../routers/ports/ai/models.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { Vault } from '../../routers/ports/vault.ts'
import type { OutageReports } from './failures/outage-reports.ts'
import { createProviderClient, openServers, type ProviderClient } from './provider-client.ts'

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
