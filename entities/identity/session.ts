import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { User } from './user.ts'

/** How somebody signed in, and so where they sign out. */
const loginMethods = ['password', 'oidc', 'proxy'] as const
export type LoginMethod = (typeof loginMethods)[number]

/** Somebody who has signed in and is no user yet, as the login source describes them. */
export interface Registrant {
  username: string
  email: string
  name: string
}

/** A session of a browser: of a user, or of somebody who is registering. */
export const Session = defineEntity({
  name: 'Session',
  tableName: 'sessions',
  properties: {
    /** SHA-256 of the session's id, in base64url: who reads the table can open no session. */
    hash: p.string().length(43).primary(),
    user: () => p.manyToOne(User).deleteRule('cascade').nullable().index().ref(),
    /** Who it is while there is no user. */
    subject: p.json<Registrant>().nullable(),
    method: p.enum(loginMethods),
    signedInAt: moment(),
    /** When its time began to run anew. */
    renewedAt: moment().index(),
    csrfToken: p.string().length(43),
    userAgent: p.string().length(200).nullable(),
    /** The language that was chosen in it. */
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
