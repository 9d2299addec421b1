import ipaddr from 'ipaddr.js'
import type { Log } from '../../routers/ports/log.ts'
import type { DistinctHeaders, HeaderSource } from '../../routers/ports/login.ts'
import { parseNetwork } from '../config/settings/setting-types.ts'
import { type SourceRecord, toIdentity } from './identity.ts'

export interface ProxyOptions {
  /** Addresses and networks of the reverse proxy. */
  addresses: readonly string[]
  /** The exact names of its headers, in lower case. */
  headers: { username: string; email: string; name: string; subject?: string | undefined }
  loginUrl?: string | undefined
  logoutUrl?: string | undefined
}

/** Reads from the proxy's headers who signed in; only headers on connections from the proxy count. */
export function createProxy({ addresses, headers: names, loginUrl, logoutUrl }: ProxyOptions, log: Log): HeaderSource {
  const isTrusted = createTrustCheck(addresses)
  return {
    loginUrl,
    logoutUrl,
    read(headers, remoteAddress) {
      if (headers[names.username] === undefined) return undefined
      if (!isTrusted(remoteAddress)) {
        log.warn({ source: 'proxy' }, 'an untrusted address sent the headers of the login proxy')
        return undefined
      }
      const username = readHeader(headers, names.username)
      if (username !== undefined) return toIdentity('proxy', readPerson(headers, names, username), log)
      log.warn({ source: 'proxy' }, 'the username header of the login proxy is not UTF-8, or came twice')
      return undefined
    },
  }
}

/** Who has no subject where there is a header for it is nobody: the username alone is not asked instead. */
function readPerson(headers: DistinctHeaders, names: ProxyOptions['headers'], username: string): SourceRecord {
  const id = names.subject === undefined ? undefined : (readHeader(headers, names.subject) ?? '').trim()
  return {
    subject: id === undefined ? undefined : `proxy:${id}`,
    // With the domain, which is no part of the username: another domain has another person of the name.
    formerSubject: `proxy:username ${username.trim().toLowerCase().normalize('NFC')}`,
    usernames: [username],
    emails: [readHeader(headers, names.email)],
    names: [readHeader(headers, names.name)],
  }
}

/** A header that comes twice was also sent by the client, so it is ignored. */
function readHeader(headers: DistinctHeaders, name: string): string | undefined {
  const [value, ...more] = headers[name] ?? []
  if (value === undefined || more.length > 0) return undefined
  return decodeUtf8(value)
}

/** HTTP hands over bytes as Latin-1; proxies send UTF-8. */
function decodeUtf8(value: string): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(value, 'latin1'))
  } catch {
    return undefined
  }
}

function createTrustCheck(addresses: readonly string[]): (address: string | undefined) => boolean {
  const networks = addresses.map(parseNetwork)
  return (address) => {
    if (!address || !ipaddr.isValid(address)) return false
    const parsed = ipaddr.process(address)
    return networks.some(([network, bits]) => network.kind() === parsed.kind() && parsed.match(network, bits))
  }
}
