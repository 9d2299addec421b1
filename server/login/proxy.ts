import ipaddr from 'ipaddr.js'
import type { Log } from '../../routers/ports/log.ts'
import type { DistinctHeaders, HeaderSource } from '../../routers/ports/login.ts'
import { parseNetwork } from '../config/settings/setting-types.ts'
import { type SourceRecord, toIdentity } from './identity.ts'

export interface ProxyOptions {
  /** Addresses and networks of the reverse proxy. */
  addresses: readonly string[]
  /** Exact header names, in lower case. */
  headers: { username: string; email: string; name: string; subject?: string | undefined }
  loginUrl?: string | undefined
  logoutUrl?: string | undefined
}

/**
 * Creates a source that reads the user from headers of a trusted proxy; only headers on connections from its addresses
 * count.
 */
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

/** If a subject header is configured, a request without it identifies nobody; the username is no fallback. */
function readPerson(headers: DistinctHeaders, names: ProxyOptions['headers'], username: string): SourceRecord {
  const id = names.subject === undefined ? undefined : (readHeader(headers, names.subject) ?? '').trim()
  return {
    subject: id === undefined ? undefined : `proxy:${id}`,
    // Includes the domain, which is not part of the username, because another domain may have another person of this
    // name.
    formerSubject: `proxy:username ${username.trim().toLowerCase().normalize('NFC')}`,
    usernames: [username],
    emails: [readHeader(headers, names.email)],
    names: [readHeader(headers, names.name)],
  }
}

/** Ignores a repeated header, because the client may have sent one of them. */
function readHeader(headers: DistinctHeaders, name: string): string | undefined {
  const [value, ...more] = headers[name] ?? []
  if (value === undefined || more.length > 0) return undefined
  return decodeUtf8(value)
}

/** HTTP headers arrive as Latin-1, while proxies send UTF-8. */
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
