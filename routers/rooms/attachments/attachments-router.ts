import { z } from 'zod'
import { fileById } from '../../../entities/rooms/attachment.sql.ts'
import { about, host, router, userWith } from '../../core/trpc.ts'
import { exposes } from '../../resource/exposure.ts'
import { creation, rowAction } from '../../verbs/action.ts'
import { reads } from '../../verbs/read.ts'
import { ifVersion } from '../../verbs/write-inputs.ts'
import { attachments } from './attachments.ts'
import { findByUuid } from './find-by-uuid.ts'
import { downloadText, giveUpText, readText } from './read-text.ts'
import { deleteAttachment } from './remove.ts'
import { identifier, openContent, storedContent } from './stored-content.ts'
import { upload, uploadInput } from './upload.ts'

const id = attachments.ids.schema

/** A file whose text is still to be read. */
const waiting = z.strictObject({ attachmentId: z.int().positive().max(2_147_483_647) })

export const attachmentsRouter = router({
  ...reads(attachments),

  upload: creation(attachments, 'upload', userWith('write'))
    .meta({
      ...about('Upload a file; an attachment that no message is sent with is deleted after an hour.'),
      file: 'in',
    })
    .input(uploadInput)
    .mutation(async ({ ctx, input }) => ({ data: await upload(ctx, ctx.caller.person.id, input) })),

  download: rowAction(attachments, 'download', userWith('read'))
    .meta({ ...about('Download the bytes of an attachment.'), file: 'out' })
    .input(z.strictObject({ id }))
    .query(({ ctx, input }) => openContent(ctx, fileById, { ids: [attachments.ids.keyOf(input.id)] })),

  stored: userWith('read')
    .meta({
      ...exposes(attachments, { proxy: 'storage' }),
      ...about('Download the bytes of an attachment, or of the picture of a person or a room, by its identifier.'),
      file: 'out',
    })
    .input(z.strictObject({ identifier }))
    .query(({ ctx, input }) => storedContent(ctx, input.identifier)),

  find: userWith('read')
    .meta(about('Find attachments by their names in the file store, which front ends keep.'))
    .input(z.strictObject({ uuids: z.array(z.uuid()).max(100) }))
    .query(({ ctx, input }) => findByUuid(ctx, input.uuids)),

  text: rowAction(attachments, 'text', userWith('read'))
    .meta({ ...about('Download the text in an attachment, as models read it.'), file: 'out' })
    .input(z.strictObject({ id }))
    .query(({ ctx, input }) => downloadText(ctx, input.id)),

  readText: host.input(waiting).mutation(({ ctx, input }) => readText(ctx, input.attachmentId)),

  giveUpText: host.input(waiting).mutation(({ ctx, input }) => giveUpText(ctx, input.attachmentId)),

  delete: userWith('write')
    .meta(exposes(attachments, 'delete'))
    .input(z.strictObject({ id, ifVersion }))
    .mutation(({ ctx, input }) => deleteAttachment(ctx, input)),
})
