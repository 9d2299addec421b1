import {
  describeAnswer,
  describeEvents,
  describeJson,
  describeObject,
  type Endpoint,
  refusal,
  text,
} from '../http/openapi.ts'
import { legacyUser } from './user.ts'

const wholeAnswer = describeObject(
  {
    success: { type: 'boolean', const: true },
    content: describeObject({ text }),
    cut: {
      type: 'string',
      enum: ['limit', 'refusal', 'length'],
      description: 'The reason why the answer is incomplete.',
    },
  },
  ['cut'],
)

const pieces = `\`delta\` events with pieces of \`text\`, one \`usage\` event with the tokens, with \`cut\` if the answer is incomplete, with \`answeredBy\` if another model answered, and with \`assistant\` if an assistant was asked, then \`done\`, or \`error\` with a code.`

/** The token-authenticated endpoints that predate v1. */
export const aiReqEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/api/ai-req',
    name: 'ai.ask',
    tag: 'ai',
    refusals: { statuses: [401, 403, 413, 415, 422, 429, 500], body: refusal },
    body: (input) => describeObject({ payload: input }),
    answers: () => describeAnswer(200, { ...describeJson(wholeAnswer), ...describeEvents(pieces) }),
  },
  {
    method: 'get',
    path: '/api/user',
    name: 'users.me',
    tag: 'caller',
    refusals: { statuses: [401, 403, 500], body: refusal },
    more: { deprecated: true, summary: 'Read the caller, as older programs expect it' },
    answer: legacyUser,
    answers: (answer) => describeAnswer(200, describeJson(answer)),
  },
]
