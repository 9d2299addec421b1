import { z } from 'zod'
import { partList, textPart, userPart } from '../../ai/request/parts.ts'
import { type AiRequest, aiRequest } from '../../ai/request/request.ts'
import { resourceId } from '../../resource/ids.ts'
import { keyEpoch } from '../message-content.ts'

/** The largest number of messages and of parts that a question may disclose; front ends send fewer. */
const MAX_MESSAGES = 200
const MAX_PARTS = 500

const source = resourceId
  .nullable()
  .default(null)
  .describe('The message in the room that this entry quotes. Absent if it quotes none.')

const message = z.discriminatedUnion('role', [
  z.strictObject({ role: z.literal('system'), source, content: partList(textPart) }),
  z.strictObject({ role: z.literal('user'), source, content: partList(userPart) }),
  z.strictObject({ role: z.literal('assistant'), source, content: partList(textPart) }),
])

/** The input of a question to a model in a room: the disclosed messages, and the key for the answer. */
export const roomQuestion = z
  .strictObject({
    id: resourceId,
    model: aiRequest.shape.model,
    messages: z
      .array(message)
      .min(1)
      .max(MAX_MESSAGES, `must have at most ${MAX_MESSAGES} messages`)
      .refine((messages) => messages.reduce((sum, { content }) => sum + content.length, 0) <= MAX_PARTS, {
        error: `must have at most ${MAX_PARTS} parts`,
      })
      .describe('The unencrypted messages for the model, which end with a message of a user.'),
    modelTools: aiRequest.shape.modelTools,
    parameters: aiRequest.shape.parameters,
    optionalParameters: aiRequest.shape.optionalParameters,
    mayAsk: z
      .boolean()
      .default(false)
      .describe(
        'True if the caller listens to the room and answers approval requests by `approve`. The room gets these requests as encrypted events.',
      ),
    key: z
      .string()
      .regex(/^[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]=$/, { error: 'must be 32 bytes in base64' })
      .describe('The AI key of the room. The service forgets it after the request and never stores it.'),
    keyEpoch: keyEpoch.default(0),
    thread: resourceId.nullable().default(null).describe('The message that the answer replies to.'),
    replaces: resourceId
      .nullable()
      .default(null)
      .describe('An earlier answer in the room, which the new answer replaces.'),
  })
  .refine(({ thread, replaces }) => thread === null || replaces === null, {
    path: ['thread'],
    error: 'is that of the answer which is replaced',
  })
export type RoomQuestion = z.output<typeof roomQuestion>

export const toAiRequest = ({ id, model, messages, modelTools, ...options }: RoomQuestion): AiRequest => ({
  model,
  messages: messages.map(({ source: _, ...rest }) => rest),
  tools: [],
  ...(modelTools && { modelTools }),
  parameters: options.parameters,
  optionalParameters: options.optionalParameters,
  ...(options.mayAsk && { conversation: `room:${id}` }),
})
