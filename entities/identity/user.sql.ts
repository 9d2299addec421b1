import { isoTime, statement } from '../sql/statement.ts'
import { aiPictureIdentifier, pictureIdentifier } from './picture.ts'
import { AI_USER_ID, type Role } from './user.ts'

/** SQL for the identifier of a person's picture below `/proxy/storage/`; the AI user always has one. */
export const personPicture = (user: string): string =>
  `case when ${user}.id = ${AI_USER_ID} then ${aiPictureIdentifier(`${user}.avatar`)}
    else ${pictureIdentifier('profile_avatars', `${user}.avatar`)} end`

export interface KnownUser {
  id: number
  username: string
  name: string
  email: string
  role: Role
  groups: readonly string[]
  /** True if the person has keys; without keys they are registering. */
  hasKeys: boolean
  /** RFC 3339; null if the local password was never changed. */
  passwordChangedAt: string | null
}

/** Columns of a row `u` of users. */
export const knownUserColumns = `u.id, u.username, u.name, u.email, u.role, to_json(u.groups) as groups, u.public_key is not null as "hasKeys",
          ${isoTime('u.password_changed_at')} as "passwordChangedAt"`

/** Values: a username. */
export const findKnownUser = statement<KnownUser>(
  'find-known-user',
  `select ${knownUserColumns} from users u where u.username = $1`,
)

export interface SignInUser extends KnownUser {
  subject: string | null
  disabled: boolean
}

/** Values: a subject, another one that it had before or null, and a username. */
export const findSignInUsers = statement<SignInUser>(
  'find-sign-in-users',
  `select ${knownUserColumns}, u.subject, u.disabled from users u
    where u.subject = $1 or u.subject = $2 or u.username = $3`,
)

/**
 * Records a sign-in, and returns the person. It does not touch `updated_at`, because nothing public changes. Values: the
 * user's id.
 */
export const setSignedIn = statement<KnownUser>(
  'set-signed-in',
  `update users u set signed_in_at = now() where u.id = $1 returning ${knownUserColumns}`,
)

/** Values: an e-mail address, and the id of the user who may have it. */
export const findEmailOwner = statement<{ id: number }>(
  'find-email-owner',
  'select id from users where email = $1 and id <> $2::int',
)

/**
 * Keeps the earlier username, from which the key of the backup was derived. Values: the earlier username, and the
 * user's id.
 */
export const keepBackupUsername = statement<never>(
  'keep-backup-username',
  'update passkey_backups set derived_with = $1 where user_id = $2 and derived_with is null',
)

/** Values: the user's id, and the groups that they are in now. */
export const setGroups = statement<never>(
  'set-groups',
  `update users set groups = $2::text[], updated_at = now() where id = $1 and groups <> $2::text[]`,
)

/** Finds an administrator who is not disabled. */
export const findAdministrator = statement<{ id: number }>(
  'find-administrator',
  `select id from users where role = 'admin' and not disabled limit 1`,
)

/** Locks a person; it must precede the locks of rooms. Values: the user's id. */
export const lockPerson = statement<{ username: string }>(
  'lock-person',
  'select username from users where id = $1 for no key update',
)

interface NamedUser {
  id: number
  username: string
  name: string
  email: string
  role: Role
  groups: string[]
}

export interface ListedUser extends NamedUser {
  /** Time of the last sign-in. */
  signedInAt: string | null
  state: (typeof userStates)[number]
  /** Login source; `none` until the person is bound to an account of a source. */
  source: (typeof userSources)[number]
}

const userState = `case when disabled then 'disabled' when public_key is null and id <> ${AI_USER_ID} then 'registering' else 'active' end`

/** SQL for the source, with which a subject begins. */
const userSource = `coalesce(split_part(subject, ':', 1), 'none')`

export const userSources = ['local', 'ldap', 'oidc', 'proxy', 'none'] as const
export const userStates = ['active', 'registering', 'disabled'] as const
export const userOrders = ['username', 'name', 'signedInAt', '-signedInAt'] as const

/** People who never signed in come last, in either direction. */
const orders: Record<(typeof userOrders)[number], string> = {
  username: 'username',
  name: 'name, username',
  signedInAt: 'signed_in_at nulls last, username',
  '-signedInAt': 'signed_in_at desc nulls last, username',
}

/**
 * Searches users. Values: a part of the username, name or e-mail address (an empty text finds everybody); a role, a
 * group, a state and a source, each null for all; limit and offset.
 */
export const findUsers = (order: (typeof userOrders)[number]) =>
  statement<ListedUser>(
    `find-users-by-${order}`,
    `select id, username, name, email, role, to_json(groups) as groups, ${isoTime('signed_in_at')} as "signedInAt", ${userState} as state, ${userSource} as source
       from users
      where position(lower(normalize($1)) in lower(normalize(concat_ws(' ', username, name, email)))) > 0
        and ($2::text is null or role = $2) and ($3::text is null or $3 = any(groups)) and ($4::text is null or ${userState} = $4) and ($5::text is null or ${userSource} = $5)
      order by ${orders[order]} limit $6::int offset $7::int`,
  )

export interface UserDetails extends NamedUser {
  /** Permanent subject at the login source; null if they are not bound. */
  subject: string | null
  disabled: boolean
  signedInAt: string | null
  createdAt: string
  /** True if they have completed registration. */
  hasKeys: boolean
  tokens: number
  /** Time of the last use of a token. */
  tokenUsedAt: string | null
  /** Number of signed-in browsers. */
  sessions: number
}

/** Values: the user's id, and the earliest renewal of a session that has not expired. */
export const describeUser = statement<UserDetails>(
  'describe-user',
  `select u.id, u.username, u.name, u.email, u.role, to_json(u.groups) as groups, u.subject, u.disabled,
          ${isoTime('u.signed_in_at')} as "signedInAt", ${isoTime('u.created_at')} as "createdAt",
          u.public_key is not null as "hasKeys", count(t.id)::int as tokens,
          ${isoTime('max(t.last_used_at)')} as "tokenUsedAt",
          (select count(*)::int from sessions s where s.user_id = u.id and s.renewed_at > $2::timestamptz) as sessions
     from users u left join access_tokens t on t.user_id = u.id where u.id = $1 group by u.id`,
)

export interface FoundPerson {
  id: string
  displayName: string
  username: string
  /** Set only if the person was searched for by the e-mail address. */
  email: string | null
  publicKey: string | null
}

/**
 * Searches people. The text has no wildcards, and an e-mail address matches only as a whole. Names may be composed
 * differently in Unicode. Values: the text, the ids of the caller and of the AI user.
 */
export const findPeople = statement<FoundPerson>(
  'find-people',
  `select id::text as id, name as "displayName", username, public_key as "publicKey",
          case when email = lower(normalize($1)) then email end as email
     from users
    where id <> $2::int and id <> $3::int
      and (position(lower(normalize($1)) in lower(normalize(name))) > 0 or position(lower(normalize($1)) in username) > 0
           or email = lower(normalize($1)))
    order by username = lower(normalize($1)) or email = lower(normalize($1)) desc, username limit 5`,
)

/** Deletes a user, and selects their picture and role. Values: the user's id. */
export const deleteUser = statement<{ avatar: string | null; role: Role }>(
  'delete-user',
  'delete from users where id = $1 returning avatar, role',
)
