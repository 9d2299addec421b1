import { defineEntity, p } from '@mikro-orm/core'
import { Attachment } from './attachment.ts'

/** The text in an attachment, for models to read. */
export const AttachmentText = defineEntity({
  name: 'AttachmentText',
  tableName: 'attachment_texts',
  properties: {
    attachment: () => p.oneToOne(Attachment).primary().deleteRule('cascade').ref(),
    /** Compressed, and encrypted under a key that is made of that of the file. */
    sealed: p.blob(),
  },
})
