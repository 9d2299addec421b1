import { z } from 'zod'
import {
  findAssistant,
  findVersion,
  type ListedAssistant,
  type ListedVersion,
  listAssistants,
  listVersions,
  setFavorite,
} from '../../entities/assistants/assistant.sql.ts'
import { about, adminSession, adminWith, host, router, userWith, withBodySize } from '../core/trpc.ts'
import { imageBytes } from '../identity/pictures/pictures.ts'
import { type AppliedAssistant, type AssistantPage, applyAssistants, readSummaries } from './apply-assistants.ts'
import { createUnknownAssistant, type PersonContext, type VersionRef } from './assistant-changes.ts'
import { setAvatar } from './avatar.ts'
import { createOwn, remix, restoreVersion, saveVersion } from './change-assistant.ts'
import {
  type AssistantContent,
  type AssistantTexts,
  assistantContent,
  assistantsFile,
  handle,
  openTexts,
  refineSharing,
  refusalReason,
  sharing,
  toContent,
} from './content.ts'
import { handOver } from './hand-over.ts'
import { isEmbedding } from './knowledge/embed-question.ts'
import { type AssistantReview, approve, publish, readReview, readWaiting, refuse, type WaitingPage } from './review.ts'
import { deleteOwn, leave, type SharedAssistant, share } from './share-assistant.ts'

const MAX_VERSION = 2_147_483_647

const version = z.int().min(1).max(MAX_VERSION).describe('The number of a version.')
const shouldPublish = z
  .boolean()
  .default(false)
  .describe('True has the version answer from now on. If false, only editors may use it.')

const page = z
  .strictObject({
    limit: z.int().min(1).max(200).default(100),
    offset: z.int().min(0).max(1_000_000).default(0),
  })
  .prefault({})

const listInput = page
  .unwrap()
  .extend({
    tag: z.string().max(100).optional().describe('Selects assistants with this tag.'),
    isFavorite: z.literal(true).optional().describe("Selects the caller's favorites."),
  })
  .prefault({})

const named = z.strictObject({ handle })
const versionInput = z.strictObject({ handle, version })
const basedOn = version
  .optional()
  .describe('The version that the content was made from. If there is a newer one, nothing is saved.')
const contentInput = z.strictObject({ handle, content: assistantContent, publish: shouldPublish })
const saveInput = contentInput.extend({ basedOn })

/** An assistant as the people who may use it see it. Only editors see who else has it. */
type ShownAssistant = ListedAssistant &
  Pick<AssistantTexts, 'detailDescription' | 'greeting' | 'starters'> & {
    /** The number of the version that is shown. */
    version: number
    /** Present for editors. */
    groups?: string[]
    /** Present for editors. */
    allowRemix?: boolean
    /** Present for editors: usernames. */
    editors?: string[]
    /** Present for editors: what an administrator said of the version that was refused last. */
    refusal?: { version: number; reason: string } | null
  }

interface ShownVersion extends AssistantContent {
  version: number
  avatar: string | null
  /** True if its files were deleted, or are of somebody who may not change the assistant any more. */
  hasLostFiles: boolean
}

const writer = () => userWith('write')

/** Assistants that people share. Who may not use one is told that there is none. */
export const assistantsRouter = router({
  list: userWith('read')
    .meta(about('List the assistants that the caller may use or change, by name.'))
    .input(listInput)
    .query(async ({ ctx, input }): Promise<{ assistants: ListedAssistant[]; total: number }> => {
      const { limit, offset, tag = null, isFavorite = false } = input
      const rows = await ctx.services.sql(listAssistants, [
        ...toViewer(ctx),
        limit,
        offset,
        tag,
        isFavorite,
        isEmbedding(ctx),
      ])
      return { assistants: rows.map(({ assistant }) => assistant), total: rows[0]?.total ?? 0 }
    }),

  get: userWith('read')
    .meta(about('Read an assistant that the caller may use or change, without its instructions.'))
    .input(named)
    .query(async ({ ctx, input }): Promise<ShownAssistant> => {
      const [found] = await ctx.services.sql(findAssistant, [...toViewer(ctx), input.handle, isEmbedding(ctx)])
      if (!found) throw createUnknownAssistant()
      const { texts, groups, editors, allowRemix, refusal, waiting, ...shown } = found
      const { systemPrompt: _, ...readable } = openTexts(ctx.services.vault, texts)
      const ofEditors = { groups, editors, allowRemix, refusal }
      return { ...shown, waiting: shown.mayEdit ? waiting : null, ...readable, ...(shown.mayEdit && ofEditors) }
    }),

  versions: userWith('read')
    .meta(about('List the versions of an assistant that the caller may change, the newest first.'))
    .input(named)
    .query(async ({ ctx, input }): Promise<ListedVersion[]> => {
      const versions = await ctx.services.sql(listVersions, [ctx.caller.person.id, input.handle])
      if (versions.length === 0) throw createUnknownAssistant()
      return versions
    }),

  version: userWith('read')
    .meta(about('Read a version of an assistant that the caller may change, with its instructions.'))
    .input(versionInput)
    .query(async ({ ctx, input }): Promise<ShownVersion> => {
      const [found] = await ctx.services.sql(findVersion, [ctx.caller.person.id, input.handle, input.version])
      if (!found) throw createUnknownAssistant()
      const { number: version, picture: avatar, hasLostFiles } = found
      return { version, ...toContent(ctx.services.vault, found), avatar, hasLostFiles }
    }),

  groups: userWith('read')
    .meta(about('List the groups of the caller, with which they may share assistants.'))
    .query(({ ctx }): string[] => ctx.caller.person.groups.toSorted()),

  create: writer()
    .meta({ ...about('Create a private assistant.'), ...withBodySize('long text') })
    .input(contentInput)
    .mutation(({ ctx, input }): Promise<VersionRef> => createOwn(ctx, input)),

  save: writer()
    .meta({
      ...about('Save another content of an assistant as its newest version. Earlier ones stay as they are.'),
      ...withBodySize('long text'),
    })
    .input(saveInput)
    .mutation(({ ctx, input }): Promise<VersionRef> => saveVersion(ctx, input)),

  remix: writer()
    .meta(
      about(
        'Copy what is published of an assistant into a private one of the caller, if its owner allows it. Whoever may change a draft copies its newest version.',
      ),
    )
    .input(z.strictObject({ handle, newHandle: handle }))
    .mutation(({ ctx, input }): Promise<VersionRef> => remix(ctx, input)),

  publish: writer()
    .meta(about('Have a version of an assistant answer from now on, or wait for approval if it is for all.'))
    .input(versionInput)
    .mutation(({ ctx, input }): Promise<VersionRef> => publish(ctx, ctx.caller.person.id, input)),

  restore: writer()
    .meta(about('Copy an earlier version of an assistant to its newest one.'))
    .input(versionInput.extend({ publish: shouldPublish }))
    .mutation(({ ctx, input }): Promise<VersionRef> => restoreVersion(ctx, input)),

  setAvatar: writer()
    .meta({
      ...about('Save a version of an assistant that differs from the newest one by its picture.'),
      ...withBodySize('picture'),
    })
    .input(
      named.extend({
        avatar: imageBytes.min(1).nullable().describe('The picture in base64, or null to remove it.'),
        publish: shouldPublish,
        basedOn,
      }),
    )
    .mutation(({ ctx, input }): Promise<VersionRef> => setAvatar(ctx, input)),

  favorite: writer()
    .meta(about('Mark an assistant as a favorite of the caller, or no longer.'))
    .input(named.extend({ isFavorite: z.boolean().default(true) }))
    .mutation(async ({ ctx, input: { handle, isFavorite } }): Promise<{ handle: string; isFavorite: boolean }> => {
      const [seen] = await ctx.services.sql(setFavorite, [...toViewer(ctx), handle, isFavorite])
      if (!seen) throw createUnknownAssistant()
      return { handle, isFavorite }
    }),

  share: writer()
    .meta(
      about(
        'Decide who may use and who may change an assistant of the caller. It may wait for approval to be for all.',
      ),
    )
    .input(sharing.extend({ handle }).superRefine(refineSharing))
    .mutation(({ ctx, input }): Promise<SharedAssistant> => share(ctx, input)),

  handOver: writer()
    .meta(about('Make an editor the owner of an assistant of the caller, who becomes an editor.'))
    .input(named.extend({ editor: z.string().min(1).max(255).describe('The username of the editor.') }))
    .mutation(({ ctx, input }): Promise<{ handle: string; owner: string }> => handOver(ctx, input)),

  delete: writer()
    .meta(about('Delete an assistant of the caller with all its versions.'))
    .input(named)
    .mutation(({ ctx, input }): Promise<{ handle: string }> => deleteOwn(ctx, input.handle)),

  leave: writer()
    .meta(about('End the right of the caller to change an assistant of somebody else.'))
    .input(named)
    .mutation(({ ctx, input }): Promise<{ handle: string }> => leave(ctx, input.handle)),

  overview: adminSession
    .meta(about('List all assistants by their handles, without their texts.'))
    .input(page)
    .query(({ ctx, input }): Promise<AssistantPage> => readSummaries(ctx, input)),

  waiting: adminWith('read')
    .meta(about('List the assistants of which a version waits for approval, the longest waiting first.'))
    .input(page)
    .query(({ ctx, input }): Promise<WaitingPage> => readWaiting(ctx, input)),

  review: adminWith('read')
    .meta(about('Read the version of an assistant that waits for approval, and the one that answers until then.'))
    .input(named)
    .query(({ ctx, input }): Promise<AssistantReview> => readReview(ctx, input.handle)),

  approve: adminWith('write')
    .meta(
      about(
        'Approve the version of an assistant that waits: it answers all people from now on. The files of its knowledge may change without another approval.',
      ),
    )
    .input(versionInput)
    .mutation(({ ctx, input }): Promise<VersionRef> => approve(ctx, input)),

  refuse: adminWith('write')
    .meta(about('Refuse the version of an assistant that waits, with a reason for its editors.'))
    .input(versionInput.extend({ reason: refusalReason }))
    .mutation(({ ctx, input }): Promise<VersionRef> => refuse(ctx, input)),

  /** Brings assistants into line with a file; others stay as they are. */
  applyFile: host
    .input(assistantsFile)
    .mutation(({ ctx, input }): Promise<AppliedAssistant[]> => applyAssistants(ctx, input)),

  /** Has a version of any assistant answer. */
  publishAny: host.input(versionInput).mutation(({ ctx, input }): Promise<VersionRef> => publish(ctx, null, input)),
})

const toViewer = ({ caller: { person } }: PersonContext) => [person.id, person.groups] as const
