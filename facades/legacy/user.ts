import { z } from 'zod'
import { users } from '../../routers/index.ts'
import type { RecordOf } from '../../routers/resource/record.ts'

const { username, displayName, email, role, bio, avatar, createdAt, updatedAt } = users.attributes

/** The caller as `/api/user` has always shown them. */
export const legacyUser = z.object({
  id: z.int(),
  username: username.schema,
  name: displayName.schema,
  email: email.schema.optional(),
  role: role.schema.optional(),
  bio: bio.schema,
  avatar: avatar.schema,
  createdAt: createdAt.schema,
  updatedAt: updatedAt.schema,
})

export function legacyUserOf({ id, displayName: name, ...me }: RecordOf<typeof users>): z.output<typeof legacyUser> {
  const { username, email, role, bio, avatar, createdAt, updatedAt } = me
  return { id: Number(id), username, name, email, role, bio, avatar, createdAt, updatedAt }
}
