/** How a declared name is written; no two names of one object alike. */
export type MemberCase = (name: string) => string

/** How the names of declarations, and a few values, are written on the wire. */
export interface MemberProfile {
  write: MemberCase
  /** Attributes that are written otherwise, by type and declared name. */
  names?: ByAttribute<string>
  /** Relations to one whose id, as a number, is also an attribute of this name. */
  linkedIds?: ByAttribute<string>
  /** Attributes whose inner members stay as they are declared. */
  verbatim?: ByAttribute<true>
  /** Attributes whose value is shown otherwise; without one, the attribute is left out. */
  transforms?: ByAttribute<(value: unknown) => unknown>
  /** Attributes on demand that are sent where `fields` says nothing of their type. */
  sentByDefault?: ByAttribute<true>
  /** Values of filters that mean another one. */
  filters?: ByAttribute<Readonly<Record<string, string>>>
  /** Actions, as `type/action`, that answer with plain JSON, and what of their `meta`. */
  plainAnswers?: Readonly<Record<string, string>>
  /** Whether actions also take the members of their input as they are declared. */
  lenientActions?: boolean
}

type ByAttribute<Value> = Readonly<Record<string, Readonly<Record<string, Value>>>>

const snake: MemberCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const keepNames = (...names: string[]) => Object.fromEntries(names.map((name) => [name, name]))

/** What front ends of earlier versions expect. */
const legacyProfile: MemberProfile = {
  write: snake,
  names: {
    'ai-tools': { toolType: 'type' },
    attachments: { fileType: 'type' },
    connections: { connectionType: 'type' },
    // The one type of earlier versions that was never in snake case.
    'ext-apps': keepNames(
      'redirectOnConnectionAccepted',
      'redirectOnConnectionDeclined',
      'redirectUrls',
      'logoUrl',
      'logoProxyUrl',
      'publicKey',
      'credentialExpiresAt',
      'privateKey',
      'needsKeys',
      'linkDays',
      'createdAt',
      'updatedAt',
    ),
    'mcp-servers': { transport: 'type' },
    'room-messages': { replyCount: 'has_thread' },
    'user-keychain-values': { keyType: 'type' },
  },
  linkedIds: {
    'room-members': { user: 'user_id', room: 'room_id' },
    'room-messages': { room: 'room_id', member: 'member_id', thread: 'thread_id' },
  },
  verbatim: { connections: { userinfo: true, extAppSecrets: true } },
  transforms: {
    connections: { migrationsToApply: (count) => count || undefined },
    'room-messages': { replyCount: (count) => count !== 0 },
    'translation-labels': { labels: (labels) => nest(labels as Record<string, string>) },
  },
  sentByDefault: { 'room-messages': { readBy: true } },
  filters: { 'ai-tools': { assigned: { '1': 'true', '0': 'false' } } },
  plainAnswers: { 'user-keychain-values/validator': 'validator' },
  lenientActions: true,
}

/** By the setting JSONAPI_MEMBER_CASE; without a profile, everything is written as it is declared. */
export const memberProfiles: Record<'camel' | 'snake', MemberProfile | undefined> = {
  camel: undefined,
  snake: legacyProfile,
}

type Nested = { [name: string]: string | Nested }

/** Labels by their dotted keys, as objects in each other. A key that others continue stays as it is. */
function nest(labels: Readonly<Record<string, string>>): Nested {
  const nested: Nested = Object.create(null)
  for (const [key, label] of Object.entries(labels)) {
    const path = key.split('.')
    const last = path.pop() as string
    const at = path.reduce<Nested | undefined>((object, name) => enterObject(object, name), nested)
    if (at && typeof at[last] !== 'object') at[last] = label
    else nested[key] = label
  }
  return nested
}

function enterObject(object: Nested | undefined, name: string): Nested | undefined {
  const value = object?.[name]
  if (!object || typeof value === 'string') return undefined
  const next = value ?? Object.create(null)
  object[name] = next
  return next
}
