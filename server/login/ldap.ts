import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { Client, type Entry, Filter, FilterParser, ResultCodeError } from 'ldapts'
import { Problem } from '../../routers/core/problems.ts'
import { runUntilAborted, withTimeout } from '../../routers/core/timeout.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { PasswordSource } from '../../routers/ports/login.ts'
import { runOutboundCall } from '../net/fault-scope.ts'
import { type SourceRecord, toIdentity } from './identity.ts'

export interface LdapOptions {
  /**
   * Servers in the order in which they are tried, as `ldap://` or `ldaps://` addresses, with the port if it is not the
   * default.
   */
  urls: readonly string[]
  startTls: boolean
  /** Certificates to trust instead of the system's, as PEM. */
  ca?: string | undefined
  /** Account that searches; anonymous if absent. */
  bind?: { dn: string; password: string } | undefined
  base: string
  /** The text `=username` in it is replaced by the account. */
  filter: string
  attributes: LdapAttributes
  /** Time limit of each step, in milliseconds. */
  timeout: number
}

/** Throws if the text is not a valid filter. */
export const assertFilter = (filter: string): unknown => FilterParser.parseString(filter)

/** Creates a source that looks an account up in a directory and binds with its password. */
export function createLdap(options: LdapOptions, log: Log): PasswordSource {
  return {
    async verify(account, password) {
      // Many servers accept a bind without a password, as anonymous.
      if (account.trim() === '' || password === '' || /\p{Cc}/u.test(account)) return undefined
      const entry = await askServers(options, log, (runStep) => authenticate(runStep, options, account, password, log))
      return entry && toIdentity('ldap', readEntry(entry, options.attributes), log)
    },
  }
}

/** Uses the first server that responds. */
async function askServers<Result>(
  options: LdapOptions,
  log: Log,
  work: (runStep: RunStep) => Promise<Result>,
): Promise<Result> {
  let cause: unknown
  for (const url of options.urls) {
    try {
      return await runOutboundCall({ server: url }, undefined, (signal) =>
        runUntilAborted(() => withClient(url, options, work), signal),
      )
    } catch (error) {
      cause = error
      log.warn({ server: url, error }, 'an LDAP server failed')
    }
  }
  throw new Problem('unavailable', { cause })
}

/** Runs one operation on the connection. */
type RunStep = <Result>(step: (client: Client) => Promise<Result>) => Promise<Result>

/** Opens a connection for one login and closes it afterwards. */
async function withClient<Result>(
  url: string,
  { startTls, ca, timeout }: LdapOptions,
  work: (runStep: RunStep) => Promise<Result>,
): Promise<Result> {
  const tls = buildTlsOptions(url, ca)
  const secure = url.startsWith('ldaps:')
  const client = new Client({ url, timeout, connectTimeout: timeout, ...(secure && { tlsOptions: tls }) })
  let hasStarted = false
  const runStep: RunStep = (step) => {
    // The library would reconnect by itself, and after StartTLS send a password unencrypted.
    if (hasStarted && !client.isConnected) throw new Error('The connection was lost.')
    hasStarted = true
    return withTimeout(step(client), timeout * 2)
  }
  try {
    if (startTls && !secure) await runStep((fresh) => fresh.startTLS(tls))
    return await work(runStep)
  } finally {
    await client.unbind().catch(() => {})
  }
}

function buildTlsOptions(url: string, ca: string | undefined): ConnectionOptions {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '')
  return { host, minVersion: 'TLSv1.2', ...(isIP(host) === 0 && { servername: host }), ...(ca && { ca }) }
}

async function authenticate(
  runStep: RunStep,
  { bind, base, filter, attributes, timeout }: LdapOptions,
  account: string,
  password: string,
  log: Log,
): Promise<Entry | undefined> {
  if (bind) await runStep((client) => client.bind(bind.dn, bind.password))
  const { searchEntries } = await runStep((client) =>
    client.search(base, {
      scope: 'sub',
      filter: filter.replace(/=username(?=\))/g, () => `=${Filter.escape(account)}`),
      attributes: listAttributes(attributes),
      explicitBufferAttributes: listBinaryAttributes(attributes),
      sizeLimit: 2,
      timeLimit: Math.ceil(timeout / 1000),
    }),
  )
  const [entry, another] = searchEntries
  if (another) log.warn({ source: 'ldap' }, 'several entries of the directory match one account')
  // An unknown account takes as many steps as a wrong password.
  if (!entry?.dn || another) await tryBind(runStep, `cn=${randomUUID()},${base}`, randomUUID())
  else if (await tryBind(runStep, entry.dn, password)) return entry
  return undefined
}

/** Returns false if the server refuses the password; throws if it cannot tell. */
async function tryBind(runStep: RunStep, dn: string, password: string): Promise<boolean> {
  try {
    await runStep((client) => client.bind(dn, password))
    return true
  } catch (error) {
    if (error instanceof ResultCodeError && !serverErrorCodes.has(error.code)) return false
    throw error
  }
}

/**
 * Result codes that say nothing about the password, such as time and size limits, stronger authentication required,
 * busy, or unavailable.
 */
const serverErrorCodes = new Set([1, 2, 3, 7, 8, 11, 13, 51, 52])

/** Names of the attributes that describe a person. */
interface LdapAttributes {
  /** Attributes with a permanent id; the first one that an entry has counts. */
  subject: readonly string[]
  username: string
  email: string
  /** Several values are joined by spaces. */
  name: readonly string[]
  /** True if `Last, First` in a single attribute is swapped. */
  invertName: boolean
  groups?: string | undefined
}

/** Attributes to use if an entry has no display name. */
const fallbackNameAttributes = ['cn', 'givenName', 'sn']

/**
 * Returns the attributes to request. Directories send operational attributes, such as permanent ids, only if they are
 * named.
 */
const listAttributes = ({ subject, username, email, name, groups }: LdapAttributes): string[] => [
  ...new Set([...subject, username, email, ...name, ...fallbackNameAttributes, ...(groups ? [groups] : [])]),
]

/** Returns the attributes with binary values, in the spelling of the directories and of the settings. */
const listBinaryAttributes = ({ subject }: LdapAttributes): string[] => ['objectGUID', 'GUID', ...subject]

/** Returns the attributes of a directory entry. Its DN identifies the person if it has no permanent id. */
function readEntry(entry: Entry, attributes: LdapAttributes): SourceRecord {
  const { email, groups } = attributes
  const id = attributes.subject.map((name) => readBytes(entry, name)).find((bytes) => bytes !== undefined)
  return {
    subject: id && `ldap:${toText(id)}`,
    formerSubject: `ldap:dn ${entry.dn}`,
    usernames: readUsernames(entry, attributes),
    emails: readValues(entry, email),
    names: readNames(entry, attributes),
    groups: groups === undefined ? undefined : readValues(entry, groups),
  }
}

/**
 * Returns the usernames with the one in the DN first, then in alphabetical order, because directories guarantee no
 * order.
 */
function readUsernames(entry: Entry, { username }: LdapAttributes): string[] {
  const inName = entry.dn.toLowerCase()
  const isInName = (value: string) => inName.startsWith(`${username}=${value},`.toLowerCase())
  return readValues(entry, username)
    .toSorted()
    .toSorted((one, other) => Number(isInName(other)) - Number(isInName(one)))
}

function readNames(entry: Entry, { name, invertName }: LdapAttributes): string[] {
  const readFirst = (attribute: string) => readValues(entry, attribute)[0]
  const displayName = name.flatMap((attribute) => readFirst(attribute) ?? []).join(' ')
  const [commonName = '', ...names] = fallbackNameAttributes.map(readFirst)
  const isSingle = name.length === 1 && invertName
  return [isSingle ? swapNames(displayName) : displayName, commonName, names.filter(Boolean).join(' ')]
}

const swapNames = (name: string) =>
  name.replace(/^([^,]+),([^,]+)$/, (_, last, first) => `${first.trim()} ${last.trim()}`)

/** Returns the value as text if it is printable, and in hexadecimal digits otherwise, as for `objectGUID`. */
function toText(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  return /^[\x21-\x7e]+$/.test(text) ? text : bytes.toString('hex')
}

const readBytes = (entry: Entry, name: string): Buffer | undefined =>
  readRawValues(entry, name)
    .map((value) => Buffer.from(value))
    .filter((value) => value.length > 0)
    .toSorted(Buffer.compare)[0]

const readValues = (entry: Entry, name: string): string[] =>
  readRawValues(entry, name)
    .map(String)
    .filter((value) => value.trim() !== '')

/** Attribute names are case-insensitive. */
function readRawValues(entry: Entry, name: string): (string | Buffer)[] {
  const key = Object.keys(entry).find((attribute) => attribute.toLowerCase() === name.toLowerCase())
  return [entry[key ?? ''] ?? []].flat()
}
