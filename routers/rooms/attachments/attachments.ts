import { z } from 'zod'
import {
  Attachment,
  attachmentCategory,
  attachmentIdentifier,
  fileTypes,
  removableAttachments,
  textStates,
  visibleAttachments,
} from '../../../entities/rooms/attachment.ts'
import { textFailures, textGaps } from '../../../entities/sql/extracted-text.ts'
import { attribute, defineResource, one, sortedTimestamps } from '../../resource/declare.ts'

export const attachments = defineResource({
  type: 'attachments',
  about: "The caller's own files, and those of messages in the caller's rooms.",
  entity: Attachment,
  scope: visibleAttachments,
  mayDelete: removableAttachments,
  streams: { room: 'room' },
  attributes: {
    uuid: attribute(z.uuid().describe('The unique name of the file. It never changes and is never reused.')),
    name: attribute(z.string().describe('The name that the uploader gave the file.'), { sort: true }),
    category: attribute(
      z
        .enum(['group', 'private'])
        .describe(
          'The kind of message that the file belongs to: `group` for rooms, `private` for a conversation of the uploader.',
        ),
      { sql: attachmentCategory },
    ),
    fileType: attribute(z.enum(fileTypes).describe('The kind of the file, which the service detects from its bytes.')),
    mime: attribute(
      z
        .string()
        .describe(
          'The media type, which the service detects from the bytes. Ciphertext has `application/octet-stream`.',
        ),
    ),
    bytes: attribute(z.int().describe('The size of the file, in bytes.'), { sort: true }),
    identifier: attribute(z.string().describe('The path of the file below `/proxy/storage/`.'), {
      sql: attachmentIdentifier,
    }),
    clientEncrypted: attribute(z.boolean().describe('True if the bytes are ciphertext that a browser made.')),
    textState: attribute(
      z
        .enum(textStates)
        .describe(
          'The state of the text for models. It is `none` for pictures and ciphertext, and for files without text.',
        ),
    ),
    textFailure: attribute(
      z
        .enum(textFailures)
        .nullable()
        .describe('The reason why the text could not be read. It is null if nothing failed.'),
    ),
    textNotes: attribute(
      z
        .array(z.object({ gap: z.enum(textGaps), count: z.int() }))
        .describe(
          'The parts that the text lacks, with their numbers: pictures, pages without text, embedded files, unreadable parts and cells, and unknown characters. Models get these notes, too.',
        ),
    ),
    textTruncated: attribute(z.boolean().describe('True if the file has more text than is kept.')),
    ...sortedTimestamps,
  },
  relations: { uploader: one('users'), message: one('room-messages', { default: null }) },
  page: { size: 50, max: 200 },
})
