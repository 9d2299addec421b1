import { z } from 'zod'
import { fileBeginnings } from '../../ports/ai/media-types.ts'
import type { AssistantPart, CacheMark, FilePart, TextPart, ToolResult } from '../../ports/ai/messages.ts'

/** Above the largest configurable body size. */
const MAX_TEXT = 100_000_000
/** Maximum number of parts of a message. */
const MAX_PARTS = 200
/** Base64 characters of 25 MiB. */
const MAX_FILE = Math.ceil((25 * 1024 * 1024) / 3) * 4
const MAX_ID = 200
const MAX_REASON = 2000
/** Signatures of long reasoning are long. */
const MAX_SIGNATURE = 500_000

const anyText = z.string().max(MAX_TEXT)
export const text = anyText.min(1)

/** Marks the end of what the provider is to cache. */
export const cacheMark = z
  .strictObject({ ttl: z.enum(['5m', '1h']).optional() })
  .optional()
  .describe(
    'Marks the end of a prefix that the provider may cache, which only changes the price. If absent, nothing is marked.',
  ) satisfies z.ZodType<CacheMark | undefined>

export const textPart = z.strictObject({
  type: z.literal('text'),
  text,
  cache: cacheMark,
}) satisfies z.ZodType<TextPart>
/** Messages may be empty, as answers of models sometimes are. */
export const anyTextPart = textPart.extend({ text: anyText })

export const imageTypes: readonly string[] = Object.keys(fileBeginnings).filter((mime) => mime.startsWith('image/'))
/** True for documents that are plain text and go into the prompt unchanged. */
export const isPlainText = (mime: string) => /^text\/(?!rtf$)[\w.+-]+$/.test(mime) || mime === 'application/json'

/** Accepts these image types, and any document type: the text extractor knows which documents it can read. */
const isFileType = (mime: string) => Object.hasOwn(fileBeginnings, mime) || /^(?!image\/)[\w.+-]+\/[\w.+-]+$/.test(mime)

const filePart = z
  .strictObject({
    type: z.literal('file'),
    mime: z
      .string()
      .max(120)
      .refine(isFileType, { error: `must be one of ${imageTypes.join(', ')}, or the type of a document` })
      .describe('The media type.'),
    data: z.string().min(1).max(MAX_FILE, 'must have at most 25 MiB').refine(isBase64, 'must be base64'),
    name: z.string().min(1).max(255).optional(),
    cache: cacheMark,
  })
  .refine(({ mime, data }) => fileBeginnings[mime]?.some((beginning) => data.startsWith(beginning)) ?? true, {
    path: ['data'],
    error: 'is no file of this type',
  }) satisfies z.ZodType<FilePart>

function isBase64(data: string): boolean {
  let padding = 0
  if (data.endsWith('==')) padding = 2
  else if (data.endsWith('=')) padding = 1
  return data.length % 4 === 0 && !/[^A-Za-z0-9+/]/.test(data.slice(0, data.length - padding))
}

const inputPart = z.discriminatedUnion('type', [anyTextPart, filePart])

/** An attachment of the caller or of one of their rooms, by id or uuid. */
export interface AttachmentPart {
  type: 'attachment'
  id: string
  optional?: boolean | undefined
  cache?: CacheMark | undefined
}

const attachmentPart = z.strictObject({
  type: z.literal('attachment'),
  id: z
    .string()
    .regex(/^(\d{1,10}|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12})$/i, 'must be the id or uuid of an attachment'),
  optional: z
    .boolean()
    .optional()
    .describe('True if a model that cannot read the file gets a note about it. If false, the request is refused.'),
  cache: cacheMark,
}) satisfies z.ZodType<AttachmentPart>

export const userPart = z.discriminatedUnion('type', [textPart, filePart, attachmentPart])
/** Text from programs may be empty, text from people may not. */
export const anyUserPart = z.discriminatedUnion('type', [...inputPart.options, attachmentPart])

const id = z.string().min(1).max(MAX_ID)
export const toolName = z.string().regex(/^[\w-]{1,128}$/, 'must have 1 to 128 letters, digits, _ and -')
const signature = z.string().min(1).max(MAX_SIGNATURE).optional()

export const assistantPart = z.discriminatedUnion('type', [
  anyTextPart,
  z.strictObject({ type: z.literal('reasoning'), text: anyText, signature }),
  z.strictObject({ type: z.literal('tool-call'), id, name: toolName, input: anyText, signature, cache: cacheMark }),
]) satisfies z.ZodType<AssistantPart>

export const toolResult = z.strictObject({
  type: z.literal('tool-result'),
  id,
  name: toolName,
  content: z.array(inputPart).max(MAX_PARTS),
  isError: z.boolean().optional(),
  cache: cacheMark,
}) satisfies z.ZodType<ToolResult>

/** The person's answer to a question at the end of an answer. */
export interface ToolApproval {
  type: 'tool-approval'
  /** Id of the question and of its tool call. */
  id: string
  allow: boolean
  /** Reason for the model if the call is refused. */
  reason?: string | undefined
}

export const toolApproval = z.strictObject({
  type: z.literal('tool-approval'),
  id: id.describe('The id of the approval request. The call that it concerns must be sent back with the same id.'),
  allow: z.boolean(),
  reason: z.string().max(MAX_REASON).optional().describe('The reason for the model if the call is refused.'),
}) satisfies z.ZodType<ToolApproval>

export const partList = <Part extends z.ZodType>(part: Part) =>
  z.array(part).min(1).max(MAX_PARTS, `must have at most ${MAX_PARTS} parts`)
