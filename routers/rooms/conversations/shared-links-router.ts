import { z } from 'zod'
import { type ListedLink, listAllLinks, type OwnLink } from '../../../entities/rooms/shared-link.sql.ts'
import { about, adminSession, adminWith, anyone, host, router, userWith } from '../../core/trpc.ts'
import { slug, toLikePattern } from './conversations.ts'
import { assertMayRead, openCopy } from './shared-copy.ts'
import {
  changeOwnLink,
  createLink,
  deleteEnded,
  endAnyLink,
  endOwnLink,
  endOwnLinks,
  linkChangeInput,
  linkSelector,
  listLinks,
  newLinkInput,
  readRules,
  uploadCopy,
} from './shared-links.ts'

/** The id of a link as somebody requests it. One that is malformed is not found, as one that never was. */
const anyId = z.strictObject({ id: z.string().max(200) })

/** Links to copies of conversations, which browsers seal. Nobody but the readers has their keys. */
export const sharedLinksRouter = router({
  rules: userWith('read')
    .meta(about('Read with whom and for how long the caller may share conversations.'))
    .query(({ ctx }) => readRules(ctx)),

  list: userWith('read')
    .meta(
      about(
        "List the caller's links to copies of conversations, or of one conversation, the newest first, and behind them those that have ended, and how.",
      ),
    )
    .input(z.strictObject({ slug: slug.optional() }).prefault({}))
    .query(({ ctx, input }): Promise<OwnLink[]> => listLinks(ctx, input.slug)),

  create: userWith('write')
    .meta(about('Create a link for a copy of a private conversation. It leads to nothing before the copy is uploaded.'))
    .input(newLinkInput)
    .mutation(({ ctx, input }): Promise<OwnLink> => createLink(ctx, input)),

  upload: userWith('write')
    .meta({ ...about('Upload the sealed copy of a link, in place of the one before. The address stays.'), file: 'in' })
    .input(linkSelector)
    .mutation(({ ctx, input }): Promise<OwnLink> => uploadCopy(ctx, input.id)),

  change: userWith('write')
    .meta(about('Decide anew who may read a link of the caller, or when it ends.'))
    .input(linkChangeInput)
    .mutation(({ ctx, input }): Promise<OwnLink> => changeOwnLink(ctx, input)),

  end: userWith('write')
    .meta(about('End a link of the caller at once, and delete its copy. One that has ended is no longer listed.'))
    .input(linkSelector)
    .mutation(({ ctx, input }) => endOwnLink(ctx, input.id)),

  endAll: userWith('write')
    .meta(about('End all links of the caller at once, and delete their copies.'))
    .mutation(({ ctx }) => endOwnLinks(ctx)),

  visit: anyone
    .meta(about('Find out whether the caller may read what a link leads to.'))
    .input(anyId)
    .query(async ({ ctx, input }) => {
      await assertMayRead(ctx, input.id)
      return input
    }),

  copy: anyone
    .meta({ ...about('Download the sealed copy of a link.'), file: 'out' })
    .input(anyId)
    .query(({ ctx, input }) => openCopy(ctx, input.id)),

  overview: adminSession
    .meta(about('List all links by their owners, sizes and ends. Nobody can open them without their keys.'))
    .input(
      z
        .strictObject({
          username: z.string().trim().min(1).max(120).optional().describe('Part of the username of the owner.'),
          limit: z.int().min(1).max(200).default(100),
          offset: z.int().min(0).max(1_000_000).default(0),
        })
        .prefault({}),
    )
    .query(async ({ ctx, input: { username, limit, offset } }) => {
      const pattern = username === undefined ? null : toLikePattern(username.toLowerCase())
      const rows = await ctx.services.sql(listAllLinks, [pattern, limit, offset])
      const links = rows.map(({ total: _, ...link }): Omit<ListedLink, 'total'> => link)
      return { links, total: rows[0]?.total ?? 0 }
    }),

  endAny: adminWith('write')
    .meta(about('End a link of anybody at once, and delete its copy.'))
    .input(linkSelector)
    .mutation(({ ctx, input }) => endAnyLink(ctx, input.id)),

  deleteEnded: host.mutation(({ ctx }) => deleteEnded(ctx)),
})
