import type { Entry } from 'ldapts'

/** The names of the attributes that describe a person. */
export interface LdapAttributes {
  username: string
  email: string
  /** Several are joined by blanks. */
  name: readonly string[]
  /** Whether `Last, First` in one attribute is turned round. */
  invertName: boolean
  groups?: string | undefined
}

/** The data of a person in a directory entry, not yet validated. */
export function identityOfEntry(entry: Entry, { username, email, name, invertName, groups }: LdapAttributes) {
  const usernames = valuesOf(entry, username)
  const names = name.flatMap((attribute) => valuesOf(entry, attribute)[0] ?? [])
  return {
    // Directories promise no order: out of several it would not always be the same person.
    username: usernames.length === 1 ? usernames[0] : undefined,
    email: valuesOf(entry, email)[0],
    name: name.length === 1 && invertName ? names.map(turned).join() : names.join(' '),
    ...(groups !== undefined && { groups: valuesOf(entry, groups) }),
  }
}

const turned = (name: string) => name.replace(/^([^,]+),([^,]+)$/, (_, last, first) => `${first.trim()} ${last.trim()}`)

/** Names of attributes are the same in any case. */
function valuesOf(entry: Entry, name: string): string[] {
  const found = Object.keys(entry).find((attribute) => attribute.toLowerCase() === name.toLowerCase())
  return [entry[found ?? ''] ?? []]
    .flat()
    .filter((value) => typeof value === 'string' && value.trim() !== '') as string[]
}
