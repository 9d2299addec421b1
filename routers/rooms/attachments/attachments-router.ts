import { z } from 'zod'
import { type FileOfAttachment, fileById, fileByUuid } from '../../../entities/rooms/attachment.sql.ts'
import type { CompiledStatement, ParameterValues } from '../../../entities/sql/scope.ts'
import type { Context } from '../../core/context.ts'
import { FileContent } from '../../core/file-content.ts'
import { Problem } from '../../core/problems.ts'
import { about, host, router, userWith } from '../../core/trpc.ts'
import { exposes } from '../../resource/exposure.ts'
import { action, rowAction } from '../../verbs/action.ts'
import { reads } from '../../verbs/read.ts'
import { viewerOf } from '../../verbs/viewer.ts'
import { ifVersion } from '../../verbs/write-inputs.ts'
import { attachments } from './attachments.ts'
import { findByUuid } from './find-by-uuid.ts'
import { giveUpText, readText, textOf } from './read-text.ts'
import { deleteAttachment } from './remove.ts'
import { sweepAttachments } from './sweep.ts'
import { upload, uploadInput } from './upload.ts'

const id = attachments.ids.schema

/** A file whose text is still to be read. */
const waiting = z.strictObject({ attachmentId: z.int().positive().max(2_147_483_647) })

const identifier = z
  .string()
  .max(100)
  .regex(/^(group|private)-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.[A-Za-z0-9]{1,10})?$/, {
    error: 'must be the identifier of an attachment',
  })

export const attachmentsRouter = router({
  ...reads(attachments),

  upload: action(attachments, 'upload', userWith('write'))
    .meta({
      ...about('Upload a file; an attachment that no message is sent with is deleted after an hour.'),
      file: 'in',
    })
    .input(uploadInput)
    .mutation(async ({ ctx, input }) => ({ data: await upload(ctx, ctx.caller.person.id, input) })),

  download: rowAction(attachments, 'download', userWith('read'))
    .meta({ ...about('Download the bytes of an attachment.'), file: 'out' })
    .input(z.strictObject({ id }))
    .query(({ ctx, input }) => contentOf(ctx, fileById, { ids: [attachments.ids.keyOf(input.id)] })),

  stored: userWith('read')
    .meta({
      ...exposes(attachments, { proxy: 'storage' }),
      ...about('Download the bytes of an attachment by its identifier.'),
      file: 'out',
    })
    .input(z.strictObject({ identifier }))
    .query(({ ctx, input }) => contentOf(ctx, fileByUuid, { filters: { uuid: uuidIn(input.identifier) } })),

  find: userWith('read')
    .meta(about('Find attachments by their names in the file store, which front ends keep.'))
    .input(z.strictObject({ uuids: z.array(z.uuid()).max(100) }))
    .query(({ ctx, input }) => findByUuid(ctx, input.uuids)),

  text: rowAction(attachments, 'text', userWith('read'))
    .meta({ ...about('Download the text in an attachment, as models read it.'), file: 'out' })
    .input(z.strictObject({ id }))
    .query(({ ctx, input }) => textOf(ctx, input.id)),

  readText: host.input(waiting).mutation(({ ctx, input }) => readText(ctx, input.attachmentId)),

  giveUpText: host.input(waiting).mutation(({ ctx, input }) => giveUpText(ctx, input.attachmentId)),

  delete: userWith('write')
    .meta(exposes(attachments, 'delete'))
    .input(z.strictObject({ id, ifVersion }))
    .mutation(({ ctx, input }) => deleteAttachment(ctx, input)),

  sweep: host.mutation(({ ctx }) => sweepAttachments(ctx.services)),
})

/** `group-{uuid}.pdf` */
const uuidIn = (identifier: string) => identifier.slice(identifier.indexOf('-') + 1).slice(0, 36)

async function contentOf(ctx: Context, by: CompiledStatement<FileOfAttachment>, which: ParameterValues) {
  const [found] = await ctx.services.sql(by.statement, by.values({ ...viewerOf(ctx), ...which }))
  if (!found) throw new Problem('not_found')
  const { uuid, name, mime, bytes, sealedKey } = found
  const file = { name: uuid, bytes, sealedKey }
  return new FileContent({ name, mime, bytes, tag: uuid }, (range) => ctx.services.files.read(file, range))
}
