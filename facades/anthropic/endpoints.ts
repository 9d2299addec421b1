import { anthropicRefusal, askingStatuses, tag } from '../ai/endpoints.ts'
import { describeMembers } from '../ai/members.ts'
import {
  answered,
  asIs,
  constant,
  describeList,
  describeObject,
  type Endpoint,
  events,
  json,
  nullable,
  text,
  whole,
} from '../http/openapi.ts'
import { countRequest, messageRequest } from './messages-request.ts'

const message = describeObject({
  ...{ id: text, type: constant('message'), role: constant('assistant'), model: text },
  content: describeList(describeObject({ type: text })),
  stop_reason: nullable(text),
  usage: describeObject({ input_tokens: whole, output_tokens: whole }),
})

const count = describeObject({ input_tokens: whole, estimated: { type: 'boolean' } })

const asking = {
  method: 'post',
  tag,
  refusals: { statuses: askingStatuses, body: anthropicRefusal },
  body: asIs,
} as const

/** What programs written for Anthropic's API call, beside the models. */
export const anthropicEndpoints: readonly Endpoint[] = [
  {
    ...{
      ...asking,
      path: '/v1/messages',
      name: 'ai.complete',
      request: messageRequest,
      details: describeMembers(messageRequest),
    },
    more: { summary: "Ask a model as programs written for Anthropic's messages do" },
    answers: () =>
      answered(200, { ...json(message), ...events('With `stream`: events from `message_start` to `message_stop`.') }),
  },
  {
    ...{ ...asking, path: '/v1/messages/count_tokens', name: 'ai.countTokens', request: countRequest },
    more: { summary: "Count the tokens of a message as programs written for Anthropic's messages do" },
    answers: () => answered(200, json(count)),
  },
]
