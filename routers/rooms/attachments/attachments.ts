import { z } from 'zod'
import {
  Attachment,
  attachmentIdentifier,
  fileTypes,
  removableAttachments,
  visibleAttachments,
} from '../../../entities/rooms/attachment.ts'
import { attribute, one, resource, sortedTimestamps } from '../../resource/declare.ts'

export const attachments = resource({
  type: 'attachments',
  about: "Files: the caller's own, and those of messages in the caller's rooms.",
  entity: Attachment,
  scope: visibleAttachments,
  mayDelete: removableAttachments,
  streams: { room: 'room' },
  attributes: {
    uuid: attribute(z.uuid().describe('Never changed, and never given to another file.')),
    name: attribute(z.string().describe('As the uploader called it.'), { sort: true }),
    category: attribute(z.literal('group').describe('To what kind of message it belongs: `group` is rooms.'), {
      sql: () => `'group'`,
    }),
    fileType: attribute(z.enum(fileTypes).describe('What kind of file it is, by its bytes.')),
    mime: attribute(z.string().describe('Its media type, by its bytes; of ciphertext `application/octet-stream`.')),
    bytes: attribute(z.int().describe('Its size.'), { sort: true }),
    identifier: attribute(z.string().describe('What it is called below `/proxy/storage/`.'), {
      sql: attachmentIdentifier,
    }),
    clientEncrypted: attribute(z.boolean().describe('Whether the bytes are ciphertext, made by a browser.')),
    ...sortedTimestamps,
  },
  relations: { uploader: one('users'), message: one('room-messages', { default: null }) },
  page: { size: 50, max: 200 },
})
