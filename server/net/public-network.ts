import { Resolver } from 'node:dns/promises'
import { isIP, type LookupFunction } from 'node:net'
import ipaddr from 'ipaddr.js'

export class OutboundError extends Error {
  override name = 'OutboundError'
}

/** All addresses of a name, of both families; none where it has none. */
export type Resolve = (hostname: string) => Promise<string[]>

export type Network = [ipaddr.IPv4 | ipaddr.IPv6, number]

export interface PublicNetworkOptions {
  /** The only ports that are reached. */
  ports?: readonly number[]
  /** Private networks that are reached nevertheless. */
  openNetworks?: readonly Network[]
  /** Host names that are never reached, such as our own. */
  refusedHosts?: readonly string[]
  resolve?: Resolve
}

/** Addresses that look public and are not: where clouds tell a machine its secrets. */
const metadataAddresses = ['168.63.129.16']

/** All IPv6 addresses that are given out. */
const globalAddresses = ipaddr.parseCIDR('2000::/3')

/** Decides what a request may reach whose address a stranger chose. */
export class PublicNetwork {
  readonly #ports: ReadonlySet<number>
  readonly #openNetworks: readonly Network[]
  readonly #refusedHosts: ReadonlySet<string>
  readonly #resolve: Resolve

  constructor({ ports = [80, 443], openNetworks = [], refusedHosts = [], resolve }: PublicNetworkOptions = {}) {
    this.#ports = new Set(ports)
    this.#openNetworks = openNetworks
    this.#refusedHosts = new Set(refusedHosts.map(plainName))
    this.#resolve = resolve ?? resolveName
  }

  /** Throws where a URL says by itself that it may not be reached; `URL` has already normalised numeric hosts. */
  assertAllowed({ protocol, hostname, port }: URL): void {
    if (!this.#ports.has(Number(port || (protocol === 'https:' ? 443 : 80)))) throw new OutboundError('not a web port')
    const host = plainName(hostname)
    if (this.#refusedHosts.has(host)) throw new OutboundError('not a foreign host')
    // A literal address is never resolved, so it is judged here.
    if (isIP(host) && !this.#isOpen(host)) throw notPublic()
  }

  /** Judges every address of a name, and connects to exactly those: a second answer of its DNS server changes nothing. */
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
    if (addresses.length === 0) throw new OutboundError('no such host')
    // One private address among public ones is an attack or a mistake.
    if (!addresses.every((address) => this.#isOpen(address))) throw notPublic()
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

const notPublic = () => new OutboundError('not a public address')

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast' || metadataAddresses.includes(address.toString())) return false
  return address.kind() === 'ipv4' || address.match(globalAddresses)
}

/** Without the brackets of IPv6 and the dot at the end, which change nothing. */
const plainName = (hostname: string) => hostname.replace(/^\[|\]$|\.$/g, '')

/** Asks DNS itself: the system's look-up would occupy one of few threads for as long as a slow server likes. */
async function resolveName(hostname: string): Promise<string[]> {
  const resolver = new Resolver({ timeout: 1500, tries: 2 })
  const none = (): string[] => []
  const answers = await Promise.all([resolver.resolve4(hostname).catch(none), resolver.resolve6(hostname).catch(none)])
  return answers.flat()
}
