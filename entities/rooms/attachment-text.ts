import { defineEntity, p } from '@mikro-orm/core'
import type { TextFailure, TextNote } from '../sql/extracted-text.ts'
import { compile } from '../sql/scope.ts'
import { statement } from '../sql/statement.ts'
import type { FileOfAttachment } from './attachment.sql.ts'
import { Attachment, visibleAttachments } from './attachment.ts'

/** The extracted text of an attachment, for models. */
export const AttachmentText = defineEntity({
  name: 'AttachmentText',
  tableName: 'attachment_texts',
  properties: {
    attachment: () => p.oneToOne(Attachment).primary().deleteRule('cascade').ref(),
    /** Compressed, and encrypted with a key derived from that of the file. */
    sealed: p.blob(),
  },
})

/** Finds the file of an attachment whose text is pending. Values: the attachment's id. */
export const findPendingFile = statement<FileOfAttachment>(
  'find-pending-file',
  `select uuid, name, mime, bytes, sealed_key as "sealedKey" from attachments where id = $1 and text_state = 'pending'`,
)

export interface TextOutcome {
  state: 'ready' | 'failed' | 'none'
  failure: TextFailure | null
  truncated: boolean
  notes: readonly TextNote[]
  sealed: Buffer | null
}

/**
 * Stores the outcome for a pending text; returns the room. Values: the attachment's id, then a `TextOutcome`, its notes
 * last and in JSON.
 */
export const storeTextOutcome = statement<{ room: number | null }>(
  'store-text-outcome',
  `with settled as (
    update attachments set text_state = $2, text_failure = $3, text_truncated = $4, text_notes = $6::jsonb, updated_at = now()
    where id = $1 and text_state = 'pending' returning id, room_id
  ), stored as (
    insert into attachment_texts (attachment_id, sealed) select id, $5::bytea from settled where $5::bytea is not null
  )
  select room_id as room from settled`,
)

/** The text of an attachment that the viewer sees, with the key that decrypts it. */
export const textById = compile<FileOfAttachment & { sealed: Buffer }>(
  { isUnrestricted: false, plannedOnce: true },
  (sql) => `select a.uuid, a.name, a.mime, a.bytes, a.sealed_key as "sealedKey", t.sealed
    from attachments a join attachment_texts t on t.attachment_id = a.id
    where a.id = any(${sql.param('ids')}) and ${visibleAttachments('a', sql)}`,
)
