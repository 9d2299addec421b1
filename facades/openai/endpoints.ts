import { modelEndpoints, openAiModelCall } from '../ai/endpoints.ts'
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
import { chatRequest } from './chat/chat-request.ts'
import { embeddingRequest } from './embeddings.ts'
import { responseRequest } from './responses/responses-request.ts'

const completion = describeObject({
  id: text,
  object: constant('chat.completion'),
  created: integer,
  model: text,
  choices: describeList(
    describeObject({
      index: integer,
      message: describeObject({ role: constant('assistant'), content: nullable(text) }),
      finish_reason: text,
    }),
  ),
  usage: describeObject({ prompt_tokens: integer, completion_tokens: integer, total_tokens: integer }),
})

const response = describeObject({
  id: text,
  object: constant('response'),
  created_at: integer,
  status: text,
  model: text,
  output: describeList(describeObject({ id: text, type: text })),
  usage: describeObject({ input_tokens: integer, output_tokens: integer, total_tokens: integer }),
})

const embeddings = describeObject({
  object: constant('list'),
  model: text,
  data: describeList(
    describeObject({
      object: constant('embedding'),
      index: integer,
      embedding: {
        anyOf: [
          describeList({ type: 'number' }),
          { ...text, description: 'The numbers in `base64`, four bytes each.' },
        ],
      },
    }),
  ),
  usage: describeObject({ prompt_tokens: integer, total_tokens: integer }),
})

/** The endpoints of OpenAI's API. */
export const openAiEndpoints: readonly Endpoint[] = [
  {
    ...openAiModelCall,
    path: '/v1/chat/completions',
    name: 'ai.complete',
    request: chatRequest,
    details: describeMembers(chatRequest),
    more: { summary: "Ask a model as programs written for OpenAI's chat completions do" },
    answers: () =>
      describeAnswer(200, {
        ...describeJson(completion),
        ...describeEvents('The chunks of the completion, then `[DONE]`, if `stream` is true.'),
      }),
  },
  {
    ...openAiModelCall,
    path: '/v1/responses',
    name: 'ai.complete',
    request: responseRequest,
    details: describeMembers(responseRequest),
    more: { summary: "Ask a model as programs written for OpenAI's responses do" },
    answers: () =>
      describeAnswer(200, {
        ...describeJson(response),
        ...describeEvents('The events from `response.created` to `response.completed`, if `stream` is true.'),
      }),
  },
  ...modelEndpoints,
  {
    ...openAiModelCall,
    path: '/v1/embeddings',
    name: 'ai.embed',
    request: embeddingRequest,
    more: { summary: 'Embed texts as programs written for OpenAI do' },
    answers: () => describeAnswer(200, describeJson(embeddings)),
  },
]
