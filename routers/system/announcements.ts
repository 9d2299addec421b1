import { type EntityManager, LockMode } from '@mikro-orm/postgresql'
import { z } from 'zod'
import { User } from '../../entities/identity/user.ts'
import {
  type AnnouncementRow,
  findAcceptance,
  findAnnouncement,
  findLatestPolicy,
  listAnnouncements,
  listPendingAnnouncements,
  listReceipts,
  markAnnouncementAccepted,
  markAnnouncementSeen,
} from '../../entities/system/announcement.sql.ts'
import { Announcement, AnnouncementTarget, announcementTypes } from '../../entities/system/announcement.ts'
import { runInTransaction } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { Problem } from '../core/problems.ts'
import { runStatement } from '../core/run-statement.ts'
import { about, adminSession, announcingAdmin, anyone, router, sessionUser, userWith } from '../core/trpc.ts'
import { rowId } from '../identity/user-selector.ts'
import { type NewAnnouncementTexts, viewPattern } from '../ports/announcement-texts.ts'
import { moment } from '../ports/days.ts'
import { availableLocales } from '../ports/locales.ts'

const dateInput = moment.transform((text) => new Date(text))

const title = z.string().trim().min(1, 'must not be empty').max(200)

/** The largest text, in bytes of UTF-8. */
const MAX_TEXT_BYTES = 64 * 1024

const text = z
  .string()
  .max(MAX_TEXT_BYTES)
  .refine((value) => Buffer.byteLength(value) <= MAX_TEXT_BYTES, `must have ${MAX_TEXT_BYTES} bytes at most`)
  .refine((value) => value.trim() !== '', 'must not be blank')

const texts = z
  .partialRecord(z.enum(availableLocales), text)
  .refine((value) => Object.keys(value).length > 0, 'must have one language at least')

const newAnnouncement = z
  .strictObject({
    title,
    view: z.string().regex(viewPattern, 'must be the name of a folder').optional(),
    /** An alternative to the folder: the texts are written into a new one. */
    texts: texts.optional(),
    type: z.enum(announcementTypes).default('info'),
    force: z.boolean().default(false),
    /** Usernames; an announcement without them is for everybody. */
    users: z.array(z.string().max(120).toLowerCase()).min(1).max(10_000).optional(),
    anchor: z
      .string()
      .regex(/^[A-Za-z][A-Za-z0-9]{0,59}$/, 'must be the name of an event')
      .optional(),
    start: dateInput.optional(),
    expire: dateInput.optional(),
  })
  .refine(({ start = new Date(), expire }) => !expire || expire > start, {
    path: ['expire'],
    message: 'must be later than its start',
  })
  .refine(({ view, texts }) => (view === undefined) !== (texts === undefined), {
    path: ['texts'],
    message: 'must be given, or else the folder that has them',
  })

/** Publishes an announcement from its start on. Its texts must exist. */
async function publishAnnouncement(
  ctx: Context,
  { users, texts = {}, ...announcement }: z.output<typeof newAnnouncement>,
) {
  const { settings } = ctx.services
  const { announcementText, writeAnnouncementTexts } = ctx.services.texts
  if (announcement.view !== undefined && !(await announcementText(announcement.view, settings.defaultLocale)))
    throw new Problem('invalid', { issues: [{ path: ['view'], message: 'has no text' }] })
  return runInTransaction(ctx, undefined, async (em) => {
    const targets = await findTargets(em, users ?? [])
    const {
      start: startsAt = new Date(),
      expire: expiresAt = null,
      force: isForced,
      anchor = null,
      ...rest
    } = announcement
    // The folder is written last, so that a refused announcement leaves none.
    const view = announcement.view ?? (await writeAnnouncementTexts(announcement.title, texts)).view
    const row = em.create(Announcement, { ...rest, view, isForced, anchor, startsAt, expiresAt, isGlobal: !users })
    await em.flush()
    if (targets.length > 0)
      await em.insertMany(
        AnnouncementTarget,
        targets.map(({ id: user }) => ({ announcement: row.id, user })),
      )
    ctx.auditedCall
      ?.setSubject(`announcements:${row.id}`)
      .recordChange({ after: { ...announcement, view }, people: users ? targets.length : null })
    return { id: row.id, title: row.title, people: users ? targets.length : null }
  })
}

async function findTargets(em: EntityManager, users: readonly string[]) {
  const targets = await em.find(User, { username: { $in: [...users] } }, { fields: ['username'] })
  const missing = users.filter((name) => !targets.some(({ username }) => username === name))
  if (missing.length === 0) return targets
  const names = missing.slice(0, 5).join(', ')
  throw new Problem('invalid', { issues: [{ path: ['users'], message: `names nobody there is: ${names}` }] })
}

const announcementSelector = z.strictObject({ id: rowId })
const receiptPage = announcementSelector.extend({
  page: z.int().min(1).max(100_000).default(1),
  size: z.int().min(1).max(1000).default(100),
})
const version = z.string().regex(/^[0-9a-f]{64}$/, 'must be the version of a text')

/** Procedures for announcements; forced ones must be accepted before somebody writes or asks a model. */
export const announcementsRouter = router({
  pending: userWith('read')
    .meta(about('List the announcements that the caller has not accepted.'))
    .query(async ({ ctx }) => {
      const rows = await ctx.services.sql(listPendingAnnouncements, [ctx.caller.person.id])
      return rows.map(({ id, title, type, isForced, anchor, expiresAt }) => {
        return { id: String(id), title, type, isForced, anchor, expiresAt }
      })
    }),

  read: userWith('read')
    .meta(about('Read an announcement in the language of the caller.'))
    .input(announcementSelector)
    .query(async ({ ctx, input }) => {
      const [found] = await ctx.services.sql(findAnnouncement, [input.id, ctx.caller.person.id])
      return addText(ctx, found)
    }),

  /** Open to people who are about to register, too. */
  latestPolicy: anyone.meta(about('Read the newest policy that is for everybody.')).query(async ({ ctx }) => {
    const [found] = await ctx.services.sql(findLatestPolicy)
    return addText(ctx, found)
  }),

  markSeen: sessionUser
    .meta(about('Record that the caller has seen an announcement.'))
    .input(announcementSelector)
    .mutation(async ({ ctx, input }) => {
      const [seen] = await ctx.services.sql(markAnnouncementSeen, [input.id, ctx.caller.person.id])
      if (!seen) throw createUnknownAnnouncementProblem()
    }),

  /** Only a session may accept, never a token. */
  accept: sessionUser
    .meta(about('Accept an announcement, in the version that the caller has read.'))
    .input(announcementSelector.extend({ version: version.optional() }))
    .mutation(async ({ ctx, input: { id, version } }) => {
      const person = ctx.caller.person.id
      const [found] = await ctx.services.sql(findAnnouncement, [id, person])
      if (!found) throw createUnknownAnnouncementProblem()
      const current = await ctx.services.texts.announcementText(found.view, ctx.locale)
      if (!current) throw createMissingTextProblem()
      await ctx.services.sql(markAnnouncementAccepted, [id, person, version ?? current.version])
    }),

  list: adminSession.query(async ({ ctx }) => ctx.services.sql(listAnnouncements)),

  /** Lists the people who have seen it, and accepted it; the last first. */
  receipts: adminSession.input(receiptPage).query(async ({ ctx, input: { id, page, size } }) => {
    const rows = await ctx.services.sql(listReceipts, [id, size + 1, (page - 1) * size])
    return { rows: rows.slice(0, size), hasMore: rows.length > size }
  }),

  /** Writes the texts into a new folder, from which they are published; without any, a draft for each language. */
  make: announcingAdmin
    .meta(about('Write the texts of a new announcement, or a draft for each language if there are none.'))
    .input(z.strictObject({ title, texts: texts.optional() }))
    .mutation(async ({ ctx, input }) => {
      const { title, texts = Object.fromEntries(availableLocales.map((locale) => [locale, writeDraft(input.title)])) } =
        input
      const written = await ctx.services.texts.writeAnnouncementTexts(title, texts)
      ctx.auditedCall?.recordChange({ after: { title, view: written.view } })
      return written
    }),

  /** Reads the texts of an announcement in each language that it has. */
  texts: adminSession.input(announcementSelector).query(async ({ ctx, input: { id } }) => {
    const { view } = await findRow(ctx.em(), id)
    const read = await Promise.all(availableLocales.map((locale) => ctx.services.texts.announcementText(view, locale)))
    // A missing language falls back to another one, which is left out here.
    return read.flatMap((found, at) => (found && found.locale === availableLocales[at] ? found : []))
  }),

  changeTexts: announcingAdmin
    .meta(about('Replace the texts of an announcement that nobody has accepted.'))
    .input(announcementSelector.extend({ texts }))
    .mutation(({ ctx, input: { id, texts } }) => changeTexts(ctx, id, texts)),

  publish: announcingAdmin
    .meta(about('Publish an announcement.'))
    .input(newAnnouncement)
    .mutation(({ ctx, input }) => publishAnnouncement(ctx, input)),
})

async function findRow(em: EntityManager, id: number, lockMode = LockMode.NONE) {
  const row = await em.findOne(Announcement, id, { lockMode })
  if (!row) throw createUnknownAnnouncementProblem()
  return row
}

/**
 * Writes the new texts into a new folder, and keeps the earlier ones. A forced announcement that somebody has accepted
 * cannot change.
 */
const changeTexts = (ctx: Context, id: number, texts: NewAnnouncementTexts) =>
  runInTransaction(ctx, undefined, async (em) => {
    const row = await findRow(em, id, LockMode.PESSIMISTIC_WRITE)
    const [accepted] = await runStatement(em, findAcceptance, [row.id])
    if (row.isForced && accepted) throw new Problem('conflict', { detail: ALREADY_ACCEPTED })
    const { view } = await ctx.services.texts.writeAnnouncementTexts(row.title, texts)
    ctx.auditedCall?.setSubject(`announcements:${id}`).recordChange({ before: { view: row.view }, after: { view } })
    row.view = view
    return { id, view }
  })

const ALREADY_ACCEPTED = 'People have accepted this text already: publish another announcement.'

const writeDraft = (title: string) => `# ${title}

What people should know, in Markdown.

[CONFIRM](OK)
`

async function addText({ services, locale }: Context, found: AnnouncementRow | undefined) {
  if (!found) throw createUnknownAnnouncementProblem()
  const text = await services.texts.announcementText(found.view, locale)
  if (!text) throw createMissingTextProblem()
  return { ...found, id: String(found.id), ...text }
}

const createUnknownAnnouncementProblem = () => new Problem('not_found', { detail: 'There is no such announcement.' })
const createMissingTextProblem = () =>
  new Problem('not_found', { detail: 'The announcement has no text. Please ask your administrator to restore it.' })
