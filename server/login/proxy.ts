import ipaddr from 'ipaddr.js'
import type { Log } from '../../routers/ports/log.ts'
import type { DistinctHeaders, HeaderSource } from '../../routers/ports/login.ts'
import { networkOf } from '../config/settings/addresses.ts'
import { parseIdentity } from './identity.ts'

export interface ProxyOptions {
  /** Addresses and networks of the reverse proxy. */
  addresses: readonly string[]
  /** The exact names of its headers, in lower case. */
  headers: { username: string; email: string; name: string }
  loginUrl?: string | undefined
  logoutUrl?: string | undefined
}

/** Reads from the proxy's headers who signed in; only headers on connections from the proxy count. */
export function createProxy({ addresses, headers: names, loginUrl, logoutUrl }: ProxyOptions, log: Log): HeaderSource {
  const isTrusted = trustOf(addresses)
  return {
    loginUrl,
    logoutUrl,
    read(headers, remoteAddress) {
      if (headers[names.username] === undefined) return undefined
      if (!isTrusted(remoteAddress)) {
        log.warn({ source: 'proxy' }, 'an untrusted address sent the headers of the login proxy')
        return undefined
      }
      const told = {
        username: single(headers, names.username),
        email: single(headers, names.email),
        name: single(headers, names.name),
      }
      return parseIdentity('proxy', told, log)
    },
  }
}

/** A header that comes twice was also sent by the client, so it is ignored. */
function single(headers: DistinctHeaders, name: string): string | undefined {
  const [value, ...more] = headers[name] ?? []
  if (value === undefined || more.length > 0) return undefined
  return utf8(value)
}

/** HTTP hands over bytes as Latin-1; proxies send UTF-8. */
function utf8(value: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'))
  } catch {
    return undefined
  }
}

function trustOf(addresses: readonly string[]): (address: string | undefined) => boolean {
  const networks = addresses.map(networkOf)
  return (address) => {
    if (!address || !ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return networks.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
  }
}
