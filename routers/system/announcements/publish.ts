import { z } from 'zod'
import { User } from '../../../entities/identity/user.ts'
import { Announcement, AnnouncementTarget, announcementTypes } from '../../../entities/system/announcement.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { viewPattern } from '../../ports/announcement-texts.ts'
import { moment } from '../../ports/days.ts'

const dateOf = moment.transform((text) => new Date(text))

export const newAnnouncement = z
  .strictObject({
    title: z.string().trim().min(1, 'must not be empty').max(200),
    view: z.string().regex(viewPattern, 'must be the name of a folder'),
    type: z.enum(announcementTypes).default('info'),
    force: z.boolean().default(false),
    /** By username; for everybody where absent. */
    users: z.array(z.string().max(120).toLowerCase()).min(1).max(10_000).optional(),
    anchor: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9]{0,59}$/, 'must be the name of an event')
      .optional(),
    start: dateOf.optional(),
    expire: dateOf.optional(),
  })
  .refine(({ start = new Date(), expire }) => !expire || expire > start, {
    path: ['expire'],
    message: 'must be later than its start',
  })

/** Shows an announcement from its start on to those it is for. Its texts must be there. */
export async function publishAnnouncement(ctx: Context, { users, ...given }: z.output<typeof newAnnouncement>) {
  const { announcementText, settings } = ctx.services
  if (!(await announcementText(given.view, settings.defaultLocale)))
    throw new Problem('invalid', { issues: [{ path: ['view'], message: 'has no text' }] })
  return ctx.em().transactional(async (em) => {
    const targets = users ? await em.find(User, { username: { $in: users } }, { fields: ['username'] }) : []
    const missing = users?.filter((name) => !targets.some(({ username }) => username === name)) ?? []
    if (missing.length > 0) {
      const names = missing.slice(0, 5).join(', ')
      throw new Problem('invalid', { issues: [{ path: ['users'], message: `names nobody there is: ${names}` }] })
    }
    const { start: startsAt = new Date(), expire: expiresAt = null, force: isForced, anchor = null, ...rest } = given
    const row = em.create(Announcement, { ...rest, isForced, anchor, startsAt, expiresAt, isGlobal: !users })
    await em.flush()
    if (targets.length > 0)
      await em.insertMany(
        AnnouncementTarget,
        targets.map(({ id: user }) => ({ announcement: row.id, user })),
      )
    return { id: row.id, title: row.title, people: users ? targets.length : null }
  })
}
