import { z } from 'zod'
import {
  Attachment,
  attachmentCategory,
  attachmentIdentifier,
  fileTypes,
  removableAttachments,
  textFailures,
  textGaps,
  textStates,
  visibleAttachments,
} from '../../../entities/rooms/attachment.ts'
import { attribute, defineResource, one, sortedTimestamps } from '../../resource/declare.ts'

export const attachments = defineResource({
  type: 'attachments',
  about: "Files: the caller's own, and those of messages in the caller's rooms.",
  entity: Attachment,
  scope: visibleAttachments,
  mayDelete: removableAttachments,
  streams: { room: 'room' },
  attributes: {
    uuid: attribute(z.uuid().describe('Never changed, and never given to another file.')),
    name: attribute(z.string().describe('As the uploader called it.'), { sort: true }),
    category: attribute(
      z
        .enum(['group', 'private'])
        .describe('To what kind of message it belongs: `group` is rooms, `private` a conversation of the uploader.'),
      { sql: attachmentCategory },
    ),
    fileType: attribute(z.enum(fileTypes).describe('What kind of file it is, by its bytes.')),
    mime: attribute(z.string().describe('Its media type, by its bytes; of ciphertext `application/octet-stream`.')),
    bytes: attribute(z.int().describe('Its size.'), { sort: true }),
    identifier: attribute(z.string().describe('What it is called below `/proxy/storage/`.'), {
      sql: attachmentIdentifier,
    }),
    clientEncrypted: attribute(z.boolean().describe('Whether the bytes are ciphertext, made by a browser.')),
    textState: attribute(
      z
        .enum(textStates)
        .describe(
          'Whether its text is there for models: `none` for pictures and ciphertext, or where nothing was found.',
        ),
    ),
    textFailure: attribute(z.enum(textFailures).nullable().describe('Why there is no text, where that failed.')),
    textNotes: attribute(
      z
        .array(z.object({ gap: z.enum(textGaps), count: z.int() }))
        .describe(
          'What the text is without, and how much of it: pictures, pages without text, embedded files, parts and cells that could not be read, and characters that the file does not name. Models are told, too.',
        ),
    ),
    textTruncated: attribute(z.boolean().describe('Whether the file has more text than is kept.')),
    ...sortedTimestamps,
  },
  relations: { uploader: one('users'), message: one('room-messages', { default: null }) },
  page: { size: 50, max: 200 },
})
