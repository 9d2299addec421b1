import { askingStatuses, modelEndpoints, openAiRefusal, tag } from '../ai/endpoints.ts'
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
import { chatRequest } from './chat/chat-request.ts'
import { embeddingRequest } from './embeddings.ts'
import { responseRequest } from './responses/responses-request.ts'

const completion = describeObject({
  ...{ id: text, object: constant('chat.completion'), created: whole, model: text },
  choices: describeList(
    describeObject({
      index: whole,
      message: describeObject({ role: constant('assistant'), content: nullable(text) }),
      finish_reason: text,
    }),
  ),
  usage: describeObject({ prompt_tokens: whole, completion_tokens: whole, total_tokens: whole }),
})

const response = describeObject({
  ...{ id: text, object: constant('response'), created_at: whole, status: text, model: text },
  output: describeList(describeObject({ id: text, type: text })),
  usage: describeObject({ input_tokens: whole, output_tokens: whole, total_tokens: whole }),
})

const embeddings = describeObject({
  ...{ object: constant('list'), model: text },
  data: describeList(
    describeObject({
      ...{ object: constant('embedding'), index: whole },
      embedding: {
        anyOf: [describeList({ type: 'number' }), { ...text, description: 'With `base64`: four bytes a number.' }],
      },
    }),
  ),
  usage: describeObject({ prompt_tokens: whole, total_tokens: whole }),
})

const asking = { method: 'post', tag, refusals: { statuses: askingStatuses, body: openAiRefusal }, body: asIs } as const

/** What programs written for OpenAI's API call. */
export const openAiEndpoints: readonly Endpoint[] = [
  {
    ...{
      ...asking,
      path: '/v1/chat/completions',
      name: 'ai.complete',
      request: chatRequest,
      details: describeMembers(chatRequest),
    },
    more: { summary: "Ask a model as programs written for OpenAI's chat completions do" },
    answers: () =>
      answered(200, { ...json(completion), ...events('With `stream`: chunks of the completion, then `[DONE]`.') }),
  },
  {
    ...{
      ...asking,
      path: '/v1/responses',
      name: 'ai.complete',
      request: responseRequest,
      details: describeMembers(responseRequest),
    },
    more: { summary: "Ask a model as programs written for OpenAI's responses do" },
    answers: () =>
      answered(200, {
        ...json(response),
        ...events('With `stream`: events from `response.created` to `response.completed`.'),
      }),
  },
  ...modelEndpoints,
  {
    ...{ ...asking, path: '/v1/embeddings', name: 'ai.embed', request: embeddingRequest },
    more: { summary: 'Have texts embedded as programs written for OpenAI do' },
    answers: () => answered(200, json(embeddings)),
  },
]
