import { randomUUID } from 'node:crypto'
import { isIP } from 'node:net'
import type { ConnectionOptions } from 'node:tls'
import { Client, type Entry, Filter, FilterParser, ResultCodeError } from 'ldapts'
import { Problem } from '../../routers/core/problems.ts'
import { withTimeout } from '../../routers/core/timeout.ts'
import type { Log } from '../../routers/ports/log.ts'
import type { PasswordSource } from '../../routers/ports/login.ts'
import { type SourceRecord, toIdentity } from './identity.ts'

export interface LdapOptions {
  /** Tried in this order: `ldap://` or `ldaps://`, with the port where it is not the usual one. */
  urls: readonly string[]
  startTls: boolean
  /** Certificates to trust instead of the system's, as PEM. */
  ca?: string | undefined
  /** Whom to search as; anonymous when absent. */
  bind?: { dn: string; password: string } | undefined
  base: string
  /** The words `=username` in it stand for the account. */
  filter: string
  attributes: LdapAttributes
  /** For each step, in milliseconds. */
  timeout: number
}

/** Throws where a text is no filter. */
export const assertFilter = (filter: string): unknown => FilterParser.parseString(filter)

/** Looks an account up in a directory and signs in there with the password. */
export function createLdap(options: LdapOptions, log: Log): PasswordSource {
  return {
    async verify(account, password) {
      // A bind without a password succeeds on many servers: as nobody.
      if (account.trim() === '' || password === '' || /\p{Cc}/u.test(account)) return undefined
      const entry = await askServers(options, log, (runStep) => authenticate(runStep, options, account, password, log))
      return entry && toIdentity('ldap', readEntry(entry, options.attributes), log)
    },
  }
}

/** Asks the first server that answers. */
async function askServers<Result>(
  options: LdapOptions,
  log: Log,
  work: (runStep: RunStep) => Promise<Result>,
): Promise<Result> {
  let cause: unknown
  for (const url of options.urls) {
    try {
      return await withClient(url, options, work)
    } catch (error) {
      cause = error
      log.warn({ server: url, error }, 'an LDAP server failed')
    }
  }
  throw new Problem('unavailable', { cause })
}

/** Runs one step after another on a connection. */
type RunStep = <Result>(step: (client: Client) => Promise<Result>) => Promise<Result>

/** Opens a connection for one login, and closes it in any case. */
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
    // The library would connect again by itself, and after StartTLS send a password in the clear.
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
  // As many steps for an unknown account as for a wrong password.
  if (!entry?.dn || another) await tryBind(runStep, `cn=${randomUUID()},${base}`, randomUUID())
  else if (await tryBind(runStep, entry.dn, password)) return entry
  return undefined
}

/** False where the server says no; throws where it cannot say. */
async function tryBind(runStep: RunStep, dn: string, password: string): Promise<boolean> {
  try {
    await runStep((client) => client.bind(dn, password))
    return true
  } catch (error) {
    if (error instanceof ResultCodeError && !serverErrorCodes.has(error.code)) return false
    throw error
  }
}

/** Result codes that say nothing about the password: time and size limits, stronger security wanted, busy, unavailable. */
const serverErrorCodes = new Set([1, 2, 3, 7, 8, 11, 13, 51, 52])

/** The names of the attributes that describe a person. */
export interface LdapAttributes {
  /** What never changes: the first that an entry has counts. */
  subject: readonly string[]
  username: string
  email: string
  /** Several are joined by blanks. */
  name: readonly string[]
  /** Whether `Last, First` in one attribute is turned round. */
  invertName: boolean
  groups?: string | undefined
}

/** Where an entry has no display name. */
const fallbackNameAttributes = ['cn', 'givenName', 'sn']

/** The attributes to ask for, by name: directories send what never changes only to those who name it. */
export const listAttributes = ({ subject, username, email, name, groups }: LdapAttributes): string[] => [
  ...new Set([...subject, username, email, ...name, ...fallbackNameAttributes, ...(groups ? [groups] : [])]),
]

/** Those whose values are bytes, in the spelling of the directories that have them, and in that of the settings. */
export const listBinaryAttributes = ({ subject }: LdapAttributes): string[] => ['objectGUID', 'GUID', ...subject]

/** What a directory entry tells of a person. Its DN names them where it has nothing that never changes. */
export function readEntry(entry: Entry, attributes: LdapAttributes): SourceRecord {
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

/** Directories promise no order. Of several usernames the one in the name of the entry counts, else the first of the alphabet. */
function readUsernames(entry: Entry, { username }: LdapAttributes): string[] {
  const inName = entry.dn.toLowerCase()
  const isInName = (value: string) => inName.startsWith(`${username}=${value},`.toLowerCase())
  return readValues(entry, username)
    .toSorted()
    .toSorted((one, other) => Number(isInName(other)) - Number(isInName(one)))
}

function readNames(entry: Entry, { name, invertName }: LdapAttributes): string[] {
  const first = (attribute: string) => readValues(entry, attribute)[0]
  const displayName = name.flatMap((attribute) => first(attribute) ?? []).join(' ')
  const [commonName = '', ...names] = fallbackNameAttributes.map(first)
  const isSingle = name.length === 1 && invertName
  return [isSingle ? swapNames(displayName) : displayName, commonName, names.filter(Boolean).join(' ')]
}

const swapNames = (name: string) =>
  name.replace(/^([^,]+),([^,]+)$/, (_, last, first) => `${first.trim()} ${last.trim()}`)

/** As it stands where it is a text; in hexadecimal digits where it is a number of bytes, as `objectGUID` is. */
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

/** Names of attributes are the same in any case. */
function readRawValues(entry: Entry, name: string): (string | Buffer)[] {
  const found = Object.keys(entry).find((attribute) => attribute.toLowerCase() === name.toLowerCase())
  return [entry[found ?? ''] ?? []].flat()
}
