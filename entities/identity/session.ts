import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { User } from './user.ts'

/** The login method decides where the person signs out. */
const loginMethods = ['password', 'oidc', 'proxy'] as const
export type LoginMethod = (typeof loginMethods)[number]

/** A signed-in person who is not a user yet, as the login source describes them. */
export interface Registrant {
  /** Absent in sessions of an earlier version. */
  subject?: string | undefined
  username: string
  email: string
  name: string
  groups?: readonly string[] | undefined
}

/** A session of a browser: of a user, or of somebody who is registering. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    /** SHA-256 of the session id in base64url, so that readers of the table cannot use a session. */
    hash: p.string().length(43).primary().hidden(),
    user: () => p.manyToOne(User).deleteRule('cascade').nullable().index().ref(),
    /** The person while they register and have no user row. */
    subject: p.json<Registrant>().nullable(),
    method: p.enum(loginMethods),
    signedInAt: moment(),
    /** Time of the last renewal; the session expires one lifetime later. */
    renewedAt: moment().index(),
    csrfToken: p.string().length(43).hidden(),
    userAgent: p.string().length(200).nullable(),
    /** The language that was chosen in this session. */
    locale: p.string().length(5).nullable(),
  },
  checks: [{ name: 'sessions_owner_check', expression: 'num_nonnulls(user_id, subject) = 1' }],
  indexes: [
    {
      name: 'sessions_subject_username_index',
      expression: `create index "sessions_subject_username_index" on "sessions" ((subject->>'username'))`,
    },
  ],
})
