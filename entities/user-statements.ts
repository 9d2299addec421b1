import { isoTime, statement } from './sql.ts'
import type { Role } from './user.ts'

/** What a person may know of themselves. */
export interface Profile {
  id: number
  username: string
  name: string
  email: string
  role: Role
  bio: string | null
  avatar: string | null
  createdAt: string
  updatedAt: string
}

/** Values: the user's id. */
export const findProfile = statement<Profile>(
  'find-profile',
  `select id, username, name, email, role, bio, avatar,
          ${isoTime('created_at')} as "createdAt", ${isoTime('updated_at')} as "updatedAt"
     from users where id = $1`,
)
