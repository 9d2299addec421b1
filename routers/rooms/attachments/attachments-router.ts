import { Readable } from 'node:stream'
import { z } from 'zod'
import { BUILT_IN_PICTURE } from '../../../entities/identity/picture.ts'
import {
  type AttachmentName,
  type FileOfAttachment,
  fileById,
  fileByUuid,
  namesByUuid,
} from '../../../entities/rooms/attachment.sql.ts'
import {
  findPendingFile,
  storeTextOutcome,
  type TextOutcome,
  textById,
} from '../../../entities/rooms/attachment-text.ts'
import type { CompiledStatement, ParameterValues } from '../../../entities/sql/scope.ts'
import { visiblePictures } from '../../../entities/views/picture.sql.ts'
import { withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { FileContent } from '../../core/file-content.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { about, host, router, userWith } from '../../core/trpc.ts'
import { readPicture, toPictureKey } from '../../identity/pictures/picture-files.ts'
import { attachmentTextKey } from '../../ports/ai/prompt-files.ts'
import type { StoredFile } from '../../ports/files/file-store.ts'
import { appendNotes, type ExtractionResult } from '../../ports/files/text-extractor.ts'
import { exposeAs } from '../../resource/exposure.ts'
import { creation, rowAction } from '../../verbs/action.ts'
import { createUnknownIssue } from '../../verbs/lock-row.ts'
import { defineReads } from '../../verbs/read.ts'
import { isUnrestricted, toViewer } from '../../verbs/viewer.ts'
import { ifVersion } from '../../verbs/write-inputs.ts'
import { attachments } from './attachments.ts'
import { deleteAttachment } from './message-attachments.ts'
import { openText, sealText } from './sealed-text.ts'
import { upload, uploadInput } from './upload.ts'

/** Finds attachments that the caller may see, in the order of the uuids; throws if one does not exist. */
async function findByUuid(ctx: Context, uuids: readonly string[]): Promise<AttachmentName[]> {
  if (uuids.length === 0) return []
  const values = namesByUuid.values({ ...toViewer(ctx), filters: { uuids } })
  const found = new Map((await ctx.services.sql(namesByUuid.statement, values)).map((name) => [name.uuid, name]))
  const issues = uuids.flatMap((uuid, index) =>
    found.has(uuid.toLowerCase()) ? [] : [createUnknownIssue(attachments.type, ['attachments', index])],
  )
  if (issues.length > 0) throw new Problem('not_found', { issues })
  return uuids.flatMap((uuid) => found.get(uuid.toLowerCase()) ?? [])
}

/** Extracts the text of a file; does nothing if the file is gone or its text was extracted before. */
async function extractText(ctx: Context, attachmentId: number): Promise<void> {
  const { sql } = ctx.services
  const { attachments: files, textExtractor } = ctx.services.files
  const [found] = await sql(findPendingFile, [attachmentId])
  if (!found) return
  const { uuid, mime, bytes, sealedKey } = found
  const file = { name: uuid, bytes, sealedKey }
  const extracted = await textExtractor.extract({ mime, bytes, open: () => files.read(file) }, ctx.signal())
  await applyTextOutcome(ctx, attachmentId, await toOutcome(ctx, file, extracted))
}

/** Marks the text of a file as failed after the last retry. */
const failText = (ctx: Context, attachmentId: number): Promise<void> =>
  applyTextOutcome(ctx, attachmentId, { ...noText, state: 'failed', failure: 'not-read' })

const noText = { failure: null, truncated: false, notes: [], sealed: null }

async function toOutcome(ctx: Context, file: StoredFile, extracted: ExtractionResult): Promise<TextOutcome> {
  if ('unreadable' in extracted) return { ...noText, state: 'failed', failure: extracted.unreadable }
  const { text, truncated, notes } = extracted
  if (text === '') return { ...noText, state: 'none', notes }
  const sealed = await sealText(ctx.services.vault, file, appendNotes(extracted))
  return { ...noText, state: 'ready', truncated, notes, sealed }
}

async function applyTextOutcome(ctx: Context, id: number, { state, failure, truncated, notes, sealed }: TextOutcome) {
  await withChangeLog(ctx, async (em, changes) => {
    const updated = await runStatement(em, storeTextOutcome, [
      id,
      state,
      failure,
      truncated,
      sealed,
      JSON.stringify(notes),
    ])
    for (const { room } of updated) if (room) changes.add([`room:${room}`], 'updated', attachments.type, id)
  })
  ctx.services.changes.notifier.notify(attachmentTextKey(id))
}

/** Returns the text that models read of a file as a plain text file; throws as long as there is none. */
async function downloadText(ctx: Context, id: string): Promise<FileContent> {
  const { sql, vault } = ctx.services
  const values = textById.values({ ...toViewer(ctx), ids: [attachments.ids.toKey(id)] })
  const [found] = await sql(textById.statement, values)
  if (!found) throw new Problem('not_found')
  const text = await openText(vault, found, found.sealed)
  const facts = {
    name: `${found.name}.txt`,
    mime: 'text/plain; charset=utf-8',
    bytes: text.length,
    tag: `${found.uuid}-text`,
  }
  return new FileContent(facts, (range) => Readable.from([text.subarray(range?.start, range && range.end + 1)]))
}

const UUID = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'

/**
 * The identifier of a stored file in addresses: `group-{uuid}.pdf` for an attachment, `profile_avatars-{uuid}` for a
 * picture.
 */
const identifier = z
  .string()
  .max(100)
  .regex(
    new RegExp(`^(?:group|private|profile_avatars|room_avatars|assistant_avatars)-${UUID}(?:\\.[A-Za-z0-9]{1,10})?$`),
    {
      error: 'must be the identifier of an attachment or a picture',
    },
  )

/** Opens the file of an identifier if the caller may see its attachment, person or room. */
function openStoredFile(ctx: Context, identifier: string): Promise<FileContent> {
  const [, category = '', uuid = ''] = identifier.match(/^(\w+)-(.{36})/) ?? []
  if (category in visiblePictures) return openPicture(ctx, category as keyof typeof visiblePictures, uuid)
  return openAttachment(ctx, fileByUuid, { filters: { uuid } })
}

async function openAttachment(ctx: Context, query: CompiledStatement<FileOfAttachment>, parameters: ParameterValues) {
  const [found] = await ctx.services.sql(query.statement, query.values({ ...toViewer(ctx), ...parameters }))
  if (!found) throw new Problem('not_found')
  const { uuid, name, mime, bytes, sealedKey } = found
  const file = { name: uuid, bytes, sealedKey }
  return new FileContent({ name, mime, bytes, tag: uuid }, (range) => ctx.services.files.attachments.read(file, range))
}

async function openPicture(ctx: Context, category: keyof typeof visiblePictures, uuid: string): Promise<FileContent> {
  const key = toPictureKey(`${category}-${uuid}`)
  const isBuiltIn = category === 'profile_avatars' && uuid === BUILT_IN_PICTURE
  if (!isBuiltIn && !(await isVisible(ctx, category, key))) throw new Problem('not_found')
  const picture = await readPicture(ctx.services, key, 'large')
  const facts = { name: 'picture.webp', mime: 'image/webp', bytes: picture.length, tag: uuid }
  return new FileContent(facts, (range) => Readable.from([picture.subarray(range?.start, range && range.end + 1)]))
}

async function isVisible(ctx: Context, category: keyof typeof visiblePictures, key: string): Promise<boolean> {
  const { all, scoped } = visiblePictures[category]
  const { statement, values } = isUnrestricted(ctx) ? all : scoped
  return (await ctx.services.sql(statement, values({ ...toViewer(ctx), filters: { key } }))).length > 0
}

const id = attachments.ids.schema

/** The input of a job that extracts a text. */
const pendingTextInput = z.strictObject({ attachmentId: z.int().positive().max(2_147_483_647) })

export const attachmentsRouter = router({
  ...defineReads(attachments),

  upload: creation(attachments, 'upload', userWith('write'))
    .meta({
      ...about('Upload a file. An attachment without a message is deleted after an hour.'),
      file: 'in',
    })
    .input(uploadInput)
    .mutation(async ({ ctx, input }) => ({ data: await upload(ctx, ctx.caller.person.id, input) })),

  download: rowAction(attachments, 'download', userWith('read'))
    .meta({ ...about('Download the bytes of an attachment.'), file: 'out' })
    .input(z.strictObject({ id }))
    .query(({ ctx, input }) => openAttachment(ctx, fileById, { ids: [attachments.ids.toKey(input.id)] })),

  stored: userWith('read')
    .meta({
      ...exposeAs(attachments, { proxy: 'storage' }),
      ...about(
        'Download the bytes of an attachment, or of the picture of a person, a room or an assistant, by its identifier.',
      ),
      file: 'out',
    })
    .input(z.strictObject({ identifier }))
    .query(({ ctx, input }) => openStoredFile(ctx, input.identifier)),

  find: userWith('read')
    .meta(about('Find attachments by their names in the file store, which front ends keep.'))
    .input(z.strictObject({ uuids: z.array(z.uuid()).max(100) }))
    .query(({ ctx, input }) => findByUuid(ctx, input.uuids)),

  text: rowAction(attachments, 'text', userWith('read'))
    .meta({ ...about('Download the text in an attachment, as models read it.'), file: 'out' })
    .input(z.strictObject({ id }))
    .query(({ ctx, input }) => downloadText(ctx, input.id)),

  readText: host.input(pendingTextInput).mutation(({ ctx, input }) => extractText(ctx, input.attachmentId)),

  giveUpText: host.input(pendingTextInput).mutation(({ ctx, input }) => failText(ctx, input.attachmentId)),

  delete: userWith('write')
    .meta(exposeAs(attachments, 'delete'))
    .input(z.strictObject({ id, ifVersion }))
    .mutation(({ ctx, input }) => deleteAttachment(ctx, input)),
})
