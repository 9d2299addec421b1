import { z } from 'zod'
import { conversationRoles, type MessageMetadata } from '../../../entities/rooms/conversation-message.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { resourceId } from '../../resource/ids.ts'
import { assertAttachmentCount } from '../attachments/message-attachments.ts'
import { assertContentFits, content, createMissingContentProblem } from '../message-content.ts'
import { slug } from './conversations.ts'

/** The upper bound of message numbers. */
export const MAX_NUMBER = 2_147_483_647

export const messageNumber = z
  .string()
  .regex(/^\d{1,9}\.\d{3,9}$/, { error: 'must be the number of a message, such as 12.000' })

/** `12.001` is the first reply to the message 12. */
export function parseMessageNumber(number: string): [seq: number, subSeq: number] {
  const [seq, subSeq] = number.split('.').map(Number)
  return [seq ?? 0, subSeq ?? 0]
}

const MAX_METADATA = 32 * 1024

const metadata = z
  .strictObject({ tools: z.json().optional(), params: z.json().optional(), citations: z.json().optional() })
  .refine((value) => Buffer.byteLength(JSON.stringify(value)) <= MAX_METADATA, {
    error: `must have at most ${MAX_METADATA} bytes`,
  })
  .describe('The tools, parameters and sources of an answer. They are not encrypted.') as z.ZodType<MessageMetadata>

/** The members of a message. */
export const messageMembers = {
  role: z.enum(conversationRoles).describe('The author of the message. The client also stores the answers of models.'),
  model: z.string().min(1).max(255).nullable().describe('The model that answers.'),
  content: content.nullable(),
  metadata: metadata.nullable(),
  isComplete: z.boolean().describe('True if the answer is complete.'),
  /** Bounds the list before the settings are read. */
  attachments: z.array(resourceId).max(100).describe('The files of the message, which the caller has uploaded for it.'),
}

export const NO_MODEL = 'is needed for an answer'

export function hasModel({ role, model }: { role: string; model: string | null }): boolean {
  return role === 'user' || model !== null
}

export const newMessageInput = z
  .strictObject({
    slug,
    thread: z
      .int()
      .min(0)
      .max(MAX_NUMBER)
      .default(0)
      .describe('The number, without decimals, of the message that this one replies to.'),
    parent: z
      .int()
      .min(0)
      .max(MAX_NUMBER)
      .nullable()
      .default(null)
      .describe(
        'The number, without decimals, of the message that this one follows: 0 at the beginning, null for the previous one. Messages that follow the same one are versions of each other.',
      ),
    role: messageMembers.role.default('user'),
    model: messageMembers.model.default(null),
    content: messageMembers.content.default(null),
    metadata: messageMembers.metadata.default(null),
    isComplete: messageMembers.isComplete.default(true),
    attachments: messageMembers.attachments.default([]),
  })
  .refine(hasModel, { path: ['model'], error: NO_MODEL })

export type NewMessage = z.output<typeof newMessageInput>

/** The input of a change. Missing members stay as they are; `attachments` is the complete list. */
export const messageChangeInput = z.strictObject({
  slug,
  number: messageNumber,
  ...z.object(messageMembers).partial().shape,
})

export type MessageChange = z.output<typeof messageChangeInput>

export const messageSelector = z.strictObject({ slug, number: messageNumber })

interface MessageParts {
  content: string | null
  attachments: readonly string[]
}

/** Throws if an answer would have no model. */
export function assertAnswerHasModel(message: { role: string; model: string | null }): void {
  if (!hasModel(message)) throw new Problem('invalid', { issues: [{ path: ['model'], message: NO_MODEL }] })
}

/** Throws if a message is empty, or larger than the settings allow. */
export function assertMessageFits(ctx: Context, message: MessageParts): void {
  assertContentFits(ctx, { ...message }, ctx.services.settings.conversations.messageSize)
  assertAttachmentCount(ctx, message.attachments)
  if (message.content === null && message.attachments.length === 0) throw createMissingContentProblem()
}

export const countMessageBytes = ({
  content,
  metadata,
}: {
  content: string | null
  metadata: MessageMetadata | null
}): number => (content?.length ?? 0) + (metadata ? Buffer.byteLength(JSON.stringify(metadata)) : 0)
