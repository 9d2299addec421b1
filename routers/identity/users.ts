import { z } from 'zod'
import { personPicture } from '../../entities/identity/user.sql.ts'
import { roles, User } from '../../entities/identity/user.ts'
import { everyRowForAdmins, type SqlPredicate } from '../../entities/sql/scope.ts'
import { knownUsers } from '../../entities/views/known-users.ts'
import type { Context } from '../core/context.ts'
import { consumeRateLimit } from '../core/load/rate-limit.ts'
import { personName } from '../ports/login.ts'
import { attribute, defineResource, sortedTimestamps, timestamps } from '../resource/declare.ts'
import { imageBytes } from './pictures/pictures.ts'

/** Builds a column that only the person themselves and administrators see. */
const visibleToOwner =
  (column: string): SqlPredicate =>
  (u, sql) =>
    sql.isUnrestricted ? `${u}.${column}` : `case when ${u}.id = ${sql.param('viewer')} then ${u}.${column} end`

export const users = defineResource({
  type: 'users',
  about: 'The people whom the caller knows: themselves, the AI user, and whoever shares a room with them.',
  entity: User,
  scope: knownUsers,
  mayUpdate: everyRowForAdmins((user, sql) => `${user}.id = ${sql.param('viewer')}`),
  attributes: {
    displayName: attribute(personName.describe('The name that people see.'), {
      property: 'name',
      write: 'update',
      sort: true,
    }),
    username: attribute(z.string().describe('Unique.'), { sort: true }),
    email: attribute(z.string().describe('Only of oneself; administrators see all.'), {
      sparse: true,
      sql: visibleToOwner('email'),
    }),
    bio: attribute(z.string().max(2000).nullable().describe('What the person says of themselves.'), {
      write: 'update',
    }),
    avatar: attribute(z.string().nullable().describe('What the picture is called below `/proxy/storage/`.'), {
      write: 'update',
      input: imageBytes.min(1).nullable().describe('A new picture as base64, or null for none.'),
      sql: personPicture,
    }),
    publicKey: attribute(
      z.string().nullable().describe('Base64 of an SPKI key; null until they have made their keys.'),
    ),
    role: attribute(z.enum(roles).describe('What the person may do.'), {
      write: 'update',
      sensitive: true,
      sparse: true,
      sql: visibleToOwner('role'),
    }),
    disabled: attribute(
      z.boolean().describe('Whether they are kept out: no sign-in and no token of theirs works. For administrators.'),
      {
        write: 'update',
        sensitive: true,
        sparse: true,
        sql: (u, sql) => (sql.isUnrestricted ? `${u}.disabled` : 'null::boolean'),
      },
    ),
    createdAt: sortedTimestamps.createdAt,
    updatedAt: timestamps.updatedAt,
  },
  page: { size: 25, max: 100 },
})

/** Counts profile changes against a rate limit, because each is published in all of the person's rooms. */
export const consumeProfileChange = (ctx: Context, person: number): Promise<void> =>
  consumeRateLimit(ctx, [`profile:${person}`], ctx.services.settings.profileChangesPerMinute)
