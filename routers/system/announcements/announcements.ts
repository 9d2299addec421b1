import { z } from 'zod'
import {
  type AnnouncementRow,
  findAnnouncement,
  findLatestPolicy,
  listAnnouncements,
  listPendingAnnouncements,
  markAnnouncementAccepted,
  markAnnouncementSeen,
} from '../../../entities/system/announcement.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { about, anyone, host, router, sessionUser, userWith } from '../../core/trpc.ts'
import { resourceId } from '../../identity/user-selector.ts'
import { newAnnouncement, publishAnnouncement } from './publish.ts'

/** As many as a page shows at once. */
const MAX_UNREAD = 5

const chosen = z.strictObject({ id: resourceId })
const version = z.string().regex(/^[0-9a-f]{64}$/, 'must be the version of a text')

/** Texts that people should read; some they must accept before they write or ask a model. */
export const announcementsRouter = router({
  pending: userWith('read')
    .meta(about('List the announcements that the caller has not accepted.'))
    .query(async ({ ctx }) => {
      const rows = await ctx.services.sql(listPendingAnnouncements, [ctx.caller.person.id])
      return rows.map(({ id, title, type, isForced, anchor, expiresAt }) => {
        return { id: String(id), title, type, isForced, anchor, expiresAt }
      })
    }),

  unread: userWith('read')
    .meta(
      about(
        'Read the first few announcements that the caller has not accepted; one whose text is missing comes without text and version.',
      ),
    )
    .query(async ({ ctx }) => {
      const rows = await ctx.services.sql(listPendingAnnouncements, [ctx.caller.person.id])
      return Promise.all(
        rows.slice(0, MAX_UNREAD).map(async ({ id, title, view }) => {
          const found = await ctx.services.announcementText(view, ctx.locale)
          return { id: String(id), title, text: found?.text, version: found?.version }
        }),
      )
    }),

  read: userWith('read')
    .meta(about('Read an announcement in the language of the caller.'))
    .input(chosen)
    .query(async ({ ctx, input }) => {
      const [found] = await ctx.services.sql(findAnnouncement, [input.id, ctx.caller.person.id])
      return withText(ctx, found)
    }),

  /** Also for those who are about to register. */
  latestPolicy: anyone.meta(about('Read the newest policy that is for everybody.')).query(async ({ ctx }) => {
    const [found] = await ctx.services.sql(findLatestPolicy)
    return withText(ctx, found)
  }),

  markSeen: sessionUser
    .meta(about('Record that the caller has seen an announcement.'))
    .input(chosen)
    .mutation(async ({ ctx, input }) => {
      const [seen] = await ctx.services.sql(markAnnouncementSeen, [input.id, ctx.caller.person.id])
      if (!seen) throw unknown()
    }),

  /** By the person, never by a program of theirs. */
  accept: sessionUser
    .meta(about('Record that the caller accepts an announcement, in the version that they have read.'))
    .input(chosen.extend({ version: version.optional() }))
    .mutation(async ({ ctx, input: { id, version } }) => {
      const person = ctx.caller.person.id
      const [found] = await ctx.services.sql(findAnnouncement, [id, person])
      if (!found) throw unknown()
      const current = await ctx.services.announcementText(found.view, ctx.locale)
      if (!current) throw withoutText()
      await ctx.services.sql(markAnnouncementAccepted, [id, person, version ?? current.version])
    }),

  list: host.query(async ({ ctx }) => ctx.services.sql(listAnnouncements)),

  publish: host.input(newAnnouncement).mutation(({ ctx, input }) => publishAnnouncement(ctx, input)),
})

async function withText({ services, locale }: Context, found: AnnouncementRow | undefined) {
  if (!found) throw unknown()
  const text = await services.announcementText(found.view, locale)
  if (!text) throw withoutText()
  return { ...found, id: String(found.id), ...text }
}

const unknown = () => new Problem('not_found', { detail: 'There is no such announcement.' })
const withoutText = () =>
  new Problem('not_found', { detail: 'The announcement has no text. Please ask your administrator to restore it.' })
