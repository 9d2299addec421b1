import { isoTime, statement } from '../sql/statement.ts'
import type { Role } from './user.ts'

export interface ListedUser {
  id: number
  username: string
  name: string
  email: string
  role: Role
}

/** Values: a part of the username, name or e-mail address, in any case; an empty text finds everybody. */
export const findUsers = statement<ListedUser>(
  'find-users',
  `select id, username, name, email, role from users
    where position(lower($1) in lower(concat_ws(' ', username, name, email))) > 0 order by username`,
)

export interface UserDetails extends ListedUser {
  createdAt: string
  /** Whether they have completed registration. */
  hasKeys: boolean
  tokens: number
  /** When one of their tokens was last used. */
  tokenUsedAt: string | null
}

/** Values: the user's id. */
export const describeUser = statement<UserDetails>(
  'describe-user',
  `select u.id, u.username, u.name, u.email, u.role, ${isoTime('u.created_at')} as "createdAt",
          u.public_key is not null as "hasKeys", count(t.id)::int as tokens,
          ${isoTime('max(t.last_used_at)')} as "tokenUsedAt"
     from users u left join access_tokens t on t.user_id = u.id where u.id = $1 group by u.id`,
)
