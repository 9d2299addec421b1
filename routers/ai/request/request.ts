import { z } from 'zod'
import { type NativeTool, optionalTools } from '../../ports/ai/adapters.ts'
import type { Message, ToolResult, UserPart } from '../../ports/ai/messages.ts'
import { parameters } from './parameters.ts'
import {
  type ApprovalGiven,
  type AttachmentPart,
  anyTextPart,
  anyUserPart,
  approvalGiven,
  assistantPart,
  several,
  toolResult,
} from './parts.ts'
import { toolReferences } from './references.ts'
import { callerTools, jsonFormat, toolChoice } from './tools.ts'

/** More than a model is sent in one conversation. */
export const MAX_MESSAGES = 2000

export const model = z
  .string()
  .min(1)
  .max(200, 'is not a model that you may use')
  .describe('The `modelId` of one of the `ai-models`.')

/** A message as it is asked: what a user says may name attachments, and a call may have the person's answer for a result. */
export type AskedMessage =
  | Exclude<Message, { role: 'user' | 'tool' }>
  | { role: 'tool'; content: readonly (ToolResult | ApprovalGiven)[] }
  | { role: 'user'; content: readonly (UserPart | AttachmentPart)[] }

/** One of which the attachments are read. */
export type ReadMessage = Exclude<AskedMessage, { role: 'user' }> | Extract<Message, { role: 'user' }>

const message: z.ZodType<AskedMessage, AskedMessage> = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), content: several(anyTextPart) }),
  z.strictObject({ role: z.literal('user'), content: several(anyUserPart) }),
  z.strictObject({ role: z.literal('assistant'), content: several(assistantPart) }),
  z.strictObject({
    role: z.literal('tool'),
    content: several(z.discriminatedUnion('type', [toolResult, approvalGiven])),
  }),
])

/** Of a private conversation the slug is meant; any other name of the caller's does as well. */
export const conversation = z
  .string()
  .min(1)
  .max(200)
  .describe(
    'The conversation that this belongs to, in which a tool that the person allowed for it is called without a question.',
  )

export const optionalParameters = z
  .boolean()
  .optional()
  .describe('Whether parameters that the model does not take are left out, instead of the request being refused.')

/** All that a model can be asked. Every face puts its requests into this shape. */
export const request = z.strictObject({
  model,
  system: several(anyTextPart).optional().describe('Instructions, which go before those among the messages.'),
  messages: z
    .array(message)
    .min(1)
    .max(MAX_MESSAGES, `must have at most ${MAX_MESSAGES} messages`)
    .describe('The conversation so far, which ends with a message of the user or with results of tools.'),
  tools: callerTools.default([]).describe('Functions that the caller runs.'),
  modelTools: toolReferences.optional(),
  conversation: conversation.optional(),
  mayAsk: z
    .boolean()
    .optional()
    .describe(
      'Whether the answer may end with questions whether tools may be called, which a further request answers by `tool-approval`.',
    ),
  toolUses: z
    .boolean()
    .optional()
    .describe(
      'Whether a stream tells by `tool-use` of each tool that the service or the provider runs for the answer, and by `tool-result` what came of those of the service.',
    ),
  toolChoice: toolChoice.optional(),
  parameters: parameters.default({}),
  optionalParameters,
  isAdaptable: z
    .boolean()
    .optional()
    .describe(
      'Whether the request is put into words that the model knows: a budget of thoughts becomes an effort where it has only that, and `optionalTools` are left out where it has none. The conversation may then end with the beginning of an answer, or be instructions alone.',
    ),
  optionalTools: z
    .array(z.enum(optionalTools))
    .max(optionalTools.length)
    .optional()
    .describe('What the provider is to do itself where it can.'),
  format: jsonFormat.optional().describe('The answer is to be JSON.'),
})

/** Of an answer that streams, which can stand still while the person is asked. */
export const streamRequest = request.extend({
  mayAsk: z
    .union([z.boolean(), z.literal('amid')])
    .optional()
    .describe(
      'Whether the answer may ask whether tools may be called: at its end, for a further request to answer by `tool-approval`, or `amid` it, which then waits until the call is approved or refused.',
    ),
})

export type AiRequest = z.output<typeof request> & {
  /** Those of `optionalTools` that the provider of the model has. */
  nativeTools?: readonly NativeTool[] | undefined
}
