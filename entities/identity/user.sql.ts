import { isoTime, statement } from '../sql/statement.ts'
import { aiPictureIdentifier, pictureIdentifier } from './picture.ts'
import { AI_USER_ID, type Role } from './user.ts'

/** What the picture of a person is called below `/proxy/storage/`; the AI user is never without one. */
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
  /** Whether the person has keys; without keys they are registering. */
  hasKeys: boolean
  /** RFC 3339; null where the local password was never changed. */
  passwordChangedAt: string | null
}

/** Of a row `u` of users. */
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

/** Values: the user's id. Nothing that others see changes, so neither does the time of the last change. */
export const setSignedIn = statement<never>('set-signed-in', 'update users set signed_in_at = now() where id = $1')

/** Values: an e-mail address, and the id of the user who may have it. */
export const findEmailOwner = statement<{ id: number }>(
  'find-email-owner',
  'select id from users where email = $1 and id <> $2::int',
)

/** Values: the username that the user had, and their id. The key of their backup is derived with it. */
export const keepBackupUsername = statement<never>(
  'keep-backup-username',
  'update passkey_backups set derived_with = $1 where user_id = $2 and derived_with is null',
)

/** Values: the user's id, and the groups that they are in now. */
export const setGroups = statement<never>(
  'set-groups',
  `update users set groups = $2::text[], updated_at = now() where id = $1 and groups <> $2::text[]`,
)

/** Somebody who administers, and is not kept out. */
export const findAdministrator = statement<{ id: number }>(
  'find-administrator',
  `select id from users where role = 'admin' and not disabled limit 1`,
)

/** Values: the user's id. Taken before the locks of rooms, in one order for all. */
export const lockPerson = statement<never>('lock-person', 'select from users where id = $1 for no key update')

interface NamedUser {
  id: number
  username: string
  name: string
  email: string
  role: Role
  groups: string[]
}

export interface ListedUser extends NamedUser {
  /** When they last signed in. */
  signedInAt: string | null
  state: (typeof userStates)[number]
  /** The source by which they sign in; `none` until they are bound to an account of a source. */
  source: (typeof userSources)[number]
}

const userState = `case when disabled then 'disabled' when public_key is null and id <> ${AI_USER_ID} then 'registering' else 'active' end`

/** Subjects begin with their source. */
const userSource = `coalesce(split_part(subject, ':', 1), 'none')`

export const userSources = ['local', 'ldap', 'oidc', 'proxy', 'none'] as const
export const userStates = ['active', 'registering', 'disabled'] as const
export const userOrders = ['username', 'name', 'signedInAt', '-signedInAt'] as const

/** A person who never signed in comes last, whichever way. */
const orders: Record<(typeof userOrders)[number], string> = {
  username: 'username',
  name: 'name, username',
  signedInAt: 'signed_in_at nulls last, username',
  '-signedInAt': 'signed_in_at desc nulls last, username',
}

/**
 * Values: a part of the username, name or e-mail address, in any case and form (an empty text finds everybody), a role, a group,
 * a state and a source, or null for all, how many at most, and behind how many.
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
  /** What the login source calls them for ever; null where they are bound to none yet. */
  subject: string | null
  disabled: boolean
  signedInAt: string | null
  createdAt: string
  /** Whether they have completed registration. */
  hasKeys: boolean
  tokens: number
  /** When one of their tokens was last used. */
  tokenUsedAt: string | null
  /** The number of browsers they are signed in with. */
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
  /** Of whoever was looked for by it. */
  email: string | null
  publicKey: string | null
}

/**
 * Values: the text, the caller's id and that of the AI user. No sign of the text stands for others, and an
 * address is found and told only where it was given as a whole. Names from before may be composed in another way.
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

/** Values: the user's id. Selects the picture that they had. */
export const deleteUser = statement<{ avatar: string | null }>(
  'delete-user',
  'delete from users where id = $1 returning avatar',
)
