import { z } from 'zod'
import { type LimitSubject, limitSubjects } from '../../../entities/ai/usage-limit.ts'
import { roles } from '../../../entities/identity/user.ts'

interface LimitTarget {
  subject: LimitSubject
  subjectId: string | null
}

/** How long the names of one of a kind are. */
const MAX_NAME: Partial<Record<LimitSubject, number>> = { provider: 120, model: 200, group: 200, app: 120, user: 120 }

/** PostgreSQL numbers no row beyond it. */
const LAST_ROW = 2 ** 31 - 1

/** Each one of a kind (`user`), or one of them (`user:alice`, `app:Portal`, `model:gpt-5`, `room:7`). */
export const limitTarget = z
  .string()
  .max(300)
  .refine(parseSubject, {
    error: `must be one of ${limitSubjects.join(', ')}, or one of a kind as in user:alice`,
    abort: true,
  })
  .superRefine((target, ctx) => {
    const message = wrongWith(parseTarget(target))
    if (message) ctx.addIssue({ code: 'custom', message })
  })

/** What a checked target stands for. */
export const parseTarget = (target: string): LimitTarget => parseSubject(target) as LimitTarget

function parseSubject(target: string): LimitTarget | undefined {
  const [kind = '', ...rest] = target.split(':')
  const subject = limitSubjects.find((known) => known === kind)
  const subjectId = rest.length > 0 ? rest.join(':').trim() : null
  if (!subject || subjectId === '' || (subject === 'installation' && subjectId !== null)) return undefined
  return { subject, subjectId }
}

/** Why there can be none of the kind by that name or id. */
function wrongWith({ subject, subjectId }: LimitTarget): string | undefined {
  if (subjectId === null) return undefined
  const { isPossible, message } = named[subject] ?? anyName
  return isPossible(subjectId, subject) ? undefined : message
}

interface Naming {
  isPossible(name: string, subject: LimitSubject): boolean
  message: string
}

const anyName: Naming = {
  isPossible: (name, subject) => isPossibleName(subject, name),
  message: 'has a longer name than there can be',
}

const named: Partial<Record<LimitSubject, Naming>> = {
  role: { isPossible: (name) => isRole(name), message: `must be ${roles.map((role) => `role:${role}`).join(' or ')}` },
  token: { isPossible: (id) => isRowId(id), message: 'must name the token by its id, as in token:7' },
  room: {
    isPossible: (name) => isRowId(name) || isSlug(name),
    message: 'must name the room by its id or slug, as in room:7 or room:chess-aBcDe12345',
  },
}

const isRole = (name: string): boolean => roles.some((role) => role === name)

const isRowId = (id: string): boolean => /^[1-9]\d*$/.test(id) && Number(id) <= LAST_ROW

/** Ends with random signs, so that it is no id. */
const isSlug = (name: string): boolean => /^[A-Za-z0-9-]{1,140}$/.test(name) && name.includes('-')

/** Usernames are kept in lower case, in which a letter may become two. */
const isPossibleName = (subject: LimitSubject, name: string): boolean =>
  (subject === 'user' ? name.toLowerCase() : name).length <= (MAX_NAME[subject] ?? 0)
