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
  about: 'The people whom the caller knows: themselves, the AI user, and everybody who shares a room with them.',
  entity: User,
  scope: knownUsers,
  mayUpdate: everyRowForAdmins((user, sql) => `${user}.id = ${sql.param('viewer')}`),
  attributes: {
    displayName: attribute(personName.describe('The name that people see.'), {
      property: 'name',
      write: 'update',
      sort: true,
    }),
    username: attribute(z.string().describe('The unique username.'), { sort: true }),
    email: attribute(z.string().describe('The e-mail address. Callers see only their own; administrators see all.'), {
      sparse: true,
      sql: visibleToOwner('email'),
    }),
    bio: attribute(z.string().max(2000).nullable().describe('The text in which the person describes themselves.'), {
      write: 'update',
    }),
    avatar: attribute(z.string().nullable().describe('The path of the picture below `/proxy/storage/`.'), {
      write: 'update',
      input: imageBytes.min(1).nullable().describe('A new picture in base64, or null to remove it.'),
      sql: personPicture,
    }),
    publicKey: attribute(
      z
        .string()
        .nullable()
        .describe('The public key as SPKI in base64. It is null until the person has created their keys.'),
    ),
    role: attribute(z.enum(roles).describe('The role of the person.'), {
      write: 'update',
      sensitive: true,
      sparse: true,
      sql: visibleToOwner('role'),
    }),
    disabled: attribute(
      z
        .boolean()
        .describe(
          'True if the account is disabled: the person cannot sign in, and none of their tokens works. Other callers do not get it.',
        ),
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
