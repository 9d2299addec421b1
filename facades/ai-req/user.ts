import { z } from 'zod'
import { users } from '../../routers/index.ts'
import type { RecordOf } from '../../routers/resource/record.ts'

const { username, displayName, email, role, bio, avatar, publicKey, createdAt, updatedAt } = users.attributes

/** The legacy shape of the caller, with some members under two names. */
export const legacyUser = z.object({
  id: z.int(),
  username: username.schema,
  name: displayName.schema,
  email: email.schema.optional(),
  role: role.schema.optional(),
  bio: bio.schema,
  avatar: avatar.schema,
  avatar_id: z.string().nullable().describe('The picture without its kind.'),
  publicKey: publicKey.schema,
  createdAt: createdAt.schema,
  updatedAt: updatedAt.schema,
  created_at: createdAt.schema,
  updated_at: updatedAt.schema,
})

export function toLegacyUser({ id, displayName: name, ...me }: RecordOf<typeof users>): z.output<typeof legacyUser> {
  const { username, email, role, bio, avatar, publicKey, createdAt, updatedAt } = me
  return {
    id: Number(id),
    username,
    name,
    email,
    role,
    bio,
    avatar,
    publicKey,
    avatar_id: avatar === null ? null : avatar.slice(avatar.indexOf('-') + 1),
    createdAt,
    updatedAt,
    created_at: createdAt,
    updated_at: updatedAt,
  }
}
