import { anthropicModelCall } from '../ai/endpoints.ts'
import { describeMembers } from '../ai/members.ts'
import {
  constant,
  describeAnswer,
  describeEvents,
  describeJson,
  describeList,
  describeObject,
  type Endpoint,
  integer,
  nullable,
  text,
} from '../http/openapi.ts'
import { countRequest, messageRequest } from './messages-request.ts'

const message = describeObject({
  id: text,
  type: constant('message'),
  role: constant('assistant'),
  model: text,
  content: describeList(describeObject({ type: text })),
  stop_reason: nullable(text),
  usage: describeObject({ input_tokens: integer, output_tokens: integer }),
})

const count = describeObject({ input_tokens: integer, estimated: { type: 'boolean' } })

/** The endpoints of Anthropic's API, except for the models. */
export const anthropicEndpoints: readonly Endpoint[] = [
  {
    ...anthropicModelCall,
    path: '/v1/messages',
    name: 'ai.complete',
    request: messageRequest,
    details: describeMembers(messageRequest),
    more: { summary: "Ask a model as programs written for Anthropic's messages do" },
    answers: () =>
      describeAnswer(200, {
        ...describeJson(message),
        ...describeEvents('The events from `message_start` to `message_stop`, if `stream` is true.'),
      }),
  },
  {
    ...anthropicModelCall,
    path: '/v1/messages/count_tokens',
    name: 'ai.countTokens',
    request: countRequest,
    more: { summary: "Count the tokens of a message as programs written for Anthropic's messages do" },
    answers: () => describeAnswer(200, describeJson(count)),
  },
]
