import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

export class OutboundError extends Error {
  override name = 'OutboundError'
}

/** No address was found for a host, which may be a failure of DNS. */
export class HostNotFound extends OutboundError {
  override name = 'HostNotFound'
}

/** Returns all IPv4 and IPv6 addresses of a host name; an empty list if there are none. */
export type ResolveHost = (hostname: string) => Promise<string[]>

export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number]

export interface PublicNetworkOptions {
  /** The only allowed ports. */
  ports?: readonly number[]
  /** Private networks that are allowed nevertheless. */
  openNetworks?: readonly Network[]
  /** Host names that are never allowed, such as our own. */
  refusedHosts?: readonly string[]
  resolve?: ResolveHost
}

/** Addresses that look public but are metadata services of clouds, which hand out secrets. */
const metadataAddresses = ['168.63.129.16']

/** The range of all IPv6 addresses that are assigned so far. */
const globalAddresses = ipaddr.parseCIDR('2000::/3')

/** Decides which addresses a request may reach if its URL comes from outside. */
export class PublicNetwork {
  readonly #ports: ReadonlySet<number>
  readonly #openNetworks: readonly Network[]
  readonly #refusedHosts: ReadonlySet<string>
  readonly #resolve: ResolveHost

  constructor({ ports = [80, 443], openNetworks = [], refusedHosts = [], resolve }: PublicNetworkOptions = {}) {
    this.#ports = new Set(ports)
    this.#openNetworks = openNetworks
    this.#refusedHosts = new Set(refusedHosts.map(normalizeHost))
    this.#resolve = resolve ?? resolveName
  }

  /** Throws if the port or host of a URL is not allowed; `URL` has already normalised numeric hosts. */
  assertAllowed({ protocol, hostname, port }: URL): void {
    if (!this.#ports.has(Number(port || (protocol === 'https:' ? 443 : 80)))) throw new OutboundError('not a web port')
    const host = normalizeHost(hostname)
    if (this.#refusedHosts.has(host)) throw new OutboundError('not a foreign host')
    // A literal address is never resolved, so it is checked here.
    if (isIP(host) && !this.#isOpen(host)) throw createPrivateAddressError()
  }

  /** Resolves a host name and checks every address. The connection uses exactly these addresses, so a later DNS answer (rebinding) changes nothing. */
  readonly lookup: LookupFunction = (hostname, { all }, done) => {
    this.#resolveAddresses(hostname).then(
      (addresses) => {
        const [first] = addresses
        if (all || !first) done(null, addresses)
        else done(null, first.address, first.family)
      },
      (error: Error) => done(error, []),
    )
  }

  async #resolveAddresses(hostname: string) {
    const addresses = await this.#resolve(hostname)
    if (addresses.length === 0) throw new HostNotFound('no such host')
    // One private address among public ones is an attack or a mistake.
    if (!addresses.every((address) => this.#isOpen(address))) throw createPrivateAddressError()
    return addresses.map((address) => ({ address, family: isIP(address) }))
  }

  #isOpen(text: string): boolean {
    const address = ipaddr.process(text)
    const isListed = this.#openNetworks.some(
      ([network, bits]) => network.kind() === address.kind() && address.match(network, bits),
    )
    return isListed || isPublic(address)
  }
}

const createPrivateAddressError = () => new OutboundError('not a public address')

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast' || metadataAddresses.includes(address.toString())) return false
  return address.kind() === 'ipv4' || address.match(globalAddresses)
}

/** Removes the brackets of IPv6 addresses and the trailing dot of host names. */
const normalizeHost = (hostname: string) => hostname.replace(/^\[|\]$|\.$/g, '')

/** Resolves a name by DNS queries, because the system's look-up would block one of few threads while a slow server responds. */
async function resolveName(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: 1500, tries: 2 })
  const ignoreError = (): string[] => []
  const answers = await Promise.all([
    resolver.resolve4(hostname).catch(ignoreError),
    resolver.resolve6(hostname).catch(ignoreError),
  ])
  return answers.flat()
}
