import type { Entry } from 'ldapts'
import type { SourceRecord } from './identity.ts'

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
const otherNames = ['cn', 'givenName', 'sn']

/** The attributes to ask for, by name: directories send what never changes only to those who name it. */
export const attributesToRead = ({ subject, username, email, name, groups }: LdapAttributes): string[] => [
  ...new Set([...subject, username, email, ...name, ...otherNames, ...(groups ? [groups] : [])]),
]

/** Those whose values are bytes, in the spelling of the directories that have them, and in that of the settings. */
export const binaryAttributes = ({ subject }: LdapAttributes): string[] => ['objectGUID', 'GUID', ...subject]

/** What a directory entry tells of a person. Its DN names them where it has nothing that never changes. */
export function readEntry(entry: Entry, attributes: LdapAttributes): SourceRecord {
  const { email, groups } = attributes
  const id = attributes.subject.map((name) => bytesOf(entry, name)).find((bytes) => bytes !== undefined)
  return {
    subject: id && `ldap:${toText(id)}`,
    formerSubject: `ldap:dn ${entry.dn}`,
    usernames: usernamesOf(entry, attributes),
    emails: valuesOf(entry, email),
    names: namesOf(entry, attributes),
    groups: groups === undefined ? undefined : valuesOf(entry, groups),
  }
}

/** Directories promise no order. Of several usernames the one in the name of the entry counts, else the first of the alphabet. */
function usernamesOf(entry: Entry, { username }: LdapAttributes): string[] {
  const inName = entry.dn.toLowerCase()
  const isInName = (value: string) => inName.startsWith(`${username}=${value},`.toLowerCase())
  return valuesOf(entry, username)
    .toSorted()
    .toSorted((one, other) => Number(isInName(other)) - Number(isInName(one)))
}

function namesOf(entry: Entry, { name, invertName }: LdapAttributes): string[] {
  const first = (attribute: string) => valuesOf(entry, attribute)[0]
  const displayName = name.flatMap((attribute) => first(attribute) ?? []).join(' ')
  const [commonName = '', ...names] = otherNames.map(first)
  const isSingle = name.length === 1 && invertName
  return [isSingle ? turned(displayName) : displayName, commonName, names.filter(Boolean).join(' ')]
}

const turned = (name: string) => name.replace(/^([^,]+),([^,]+)$/, (_, last, first) => `${first.trim()} ${last.trim()}`)

/** As it stands where it is a text; in hexadecimal digits where it is a number of bytes, as `objectGUID` is. */
function toText(bytes: Buffer): string {
  const text = bytes.toString('latin1')
  return /^[\x21-\x7e]+$/.test(text) ? text : bytes.toString('hex')
}

const bytesOf = (entry: Entry, name: string): Buffer | undefined =>
  rawValuesOf(entry, name)
    .map((value) => Buffer.from(value))
    .filter((value) => value.length > 0)
    .toSorted(Buffer.compare)[0]

const valuesOf = (entry: Entry, name: string): string[] =>
  rawValuesOf(entry, name)
    .map(String)
    .filter((value) => value.trim() !== '')

/** Names of attributes are the same in any case. */
function rawValuesOf(entry: Entry, name: string): (string | Buffer)[] {
  const found = Object.keys(entry).find((attribute) => attribute.toLowerCase() === name.toLowerCase())
  return [entry[found ?? ''] ?? []].flat()
}
