/** Converts a declared name to its wire name; unique within an object. */
export type MemberCase = (name: string) => string

/** Describes how names and a few values are written on the wire. */
export interface MemberProfile {
  write: MemberCase
  /** Attributes with special wire names, by type and declared name. */
  names?: ByAttribute<string>
  /** To-one relations whose numeric id is also an attribute of this name. */
  linkedIds?: ByAttribute<string>
  /** Attributes whose nested members keep their declared names. */
  verbatim?: ByAttribute<true>
  /** Attributes whose value is transformed; undefined omits the attribute. */
  transforms?: ByAttribute<(value: unknown) => unknown>
  /** On-demand attributes that are sent unless `fields` selects others. */
  sentByDefault?: ByAttribute<true>
  /** Aliases of filter values. */
  filters?: ByAttribute<Readonly<Record<string, string>>>
  /** Actions, as `type/action`, that respond with one member of their `meta` as plain JSON. */
  plainAnswers?: Readonly<Record<string, string>>
  /** True if actions also accept declared names. */
  lenientActions?: boolean
}

type ByAttribute<Value> = Readonly<Record<string, Readonly<Record<string, Value>>>>

const snake: MemberCase = (name) => name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)

const keepNames = (...names: string[]) => Object.fromEntries(names.map((name) => [name, name]))

/** The profile of legacy front ends. */
const legacyProfile: MemberProfile = {
  write: snake,
  names: {
    'ai-tools': { toolType: 'type' },
    attachments: { fileType: 'type' },
    connections: { connectionType: 'type' },
    // The one legacy type without snake case.
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

/** Profiles by the setting JSONAPI_MEMBER_CASE; without a profile, names stay as declared. */
export const memberProfiles: Record<'camel' | 'snake', MemberProfile | undefined> = {
  camel: undefined,
  snake: legacyProfile,
}

type Nested = { [name: string]: string | Nested }

/** Nests labels by their dotted keys. A key that is also a prefix of others stays flat. */
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
