import { countRequest, messageRequest } from '../anthropic/messages/request.ts'
import { constant, listOf, nullable, objectOf } from '../json-api/openapi/components.ts'
import { chatRequest } from '../openai/chat/request.ts'
import { embeddingRequest } from '../openai/embeddings.ts'
import { responseRequest } from '../openai/responses/request.ts'
import { answered, asIs, events, json, type Plain } from './plain.ts'

const text = { type: 'string' }
const whole = { type: 'integer' }

const completion = objectOf({
  ...{ id: text, object: constant('chat.completion'), created: whole, model: text },
  choices: listOf(
    objectOf({
      index: whole,
      message: objectOf({ role: constant('assistant'), content: nullable(text) }),
      finish_reason: text,
    }),
  ),
  usage: objectOf({ prompt_tokens: whole, completion_tokens: whole, total_tokens: whole }),
})

const response = objectOf({
  ...{ id: text, object: constant('response'), created_at: whole, status: text, model: text },
  output: listOf(objectOf({ id: text, type: text })),
  usage: objectOf({ input_tokens: whole, output_tokens: whole, total_tokens: whole }),
})

const message = objectOf({
  ...{ id: text, type: constant('message'), role: constant('assistant'), model: text },
  content: listOf(objectOf({ type: text })),
  stop_reason: nullable(text),
  usage: objectOf({ input_tokens: whole, output_tokens: whole }),
})

const modelOfOpenAi = objectOf({ id: text, object: constant('model'), created: whole, owned_by: text })
const modelOfAnthropic = objectOf({ type: constant('model'), id: text, display_name: text, created_at: text })

const models = {
  anyOf: [
    objectOf({ object: constant('list'), data: listOf(modelOfOpenAi) }),
    objectOf({
      data: listOf(modelOfAnthropic),
      has_more: { type: 'boolean' },
      first_id: nullable(text),
      last_id: nullable(text),
    }),
  ],
}

const embeddings = objectOf({
  ...{ object: constant('list'), model: text },
  data: listOf(
    objectOf({
      ...{ object: constant('embedding'), index: whole },
      embedding: {
        anyOf: [listOf({ type: 'number' }), { ...text, description: 'With `base64`: four bytes a number.' }],
      },
    }),
  ),
  usage: objectOf({ prompt_tokens: whole, total_tokens: whole }),
})

const anthropicVersion = { name: 'anthropic-version', in: 'header', schema: text }

const spoken = { tag: 'other faces', name: 'ai.complete' } as const
const asking = [400, 401, 403, 404, 413, 415, 429, 500]

/** For programs that know the API of another. */
export const otherFaces: readonly Plain[] = [
  {
    ...{ method: 'post', path: '/v1/chat/completions', ...spoken, refusals: asking, refusal: 'openai' },
    more: { summary: "Ask a model as programs written for OpenAI's chat completions do" },
    request: chatRequest,
    body: asIs,
    answers: () =>
      answered(200, { ...json(completion), ...events('With `stream`: chunks of the completion, then `[DONE]`.') }),
  },
  {
    ...{ method: 'post', path: '/v1/responses', ...spoken, refusals: asking, refusal: 'openai' },
    more: { summary: "Ask a model as programs written for OpenAI's responses do" },
    request: responseRequest,
    body: asIs,
    answers: () =>
      answered(200, {
        ...json(response),
        ...events('With `stream`: events from `response.created` to `response.completed`.'),
      }),
  },
  {
    ...{ method: 'post', path: '/v1/messages', ...spoken, refusals: asking, refusal: 'anthropic' },
    more: { summary: "Ask a model as programs written for Anthropic's messages do" },
    request: messageRequest,
    body: asIs,
    answers: () =>
      answered(200, { ...json(message), ...events('With `stream`: events from `message_start` to `message_stop`.') }),
  },
  {
    ...{
      method: 'get',
      path: '/v1/models',
      tag: 'other faces',
      name: 'ai.models',
      refusals: [401, 403],
      refusal: 'either',
    },
    more: {
      summary: 'List the models that the caller may use, as OpenAI does, or Anthropic where its version is named',
      parameters: [anthropicVersion],
    },
    answers: () => answered(200, json(models)),
  },
  {
    ...{ method: 'get', path: '/v1/models/{model}', tag: 'other faces', name: 'ai.models', refusals: [401, 403, 404] },
    refusal: 'either',
    more: {
      summary: 'Read a model that the caller may use, as OpenAI does, or Anthropic where its version is named',
      parameters: [{ name: 'model', in: 'path', required: true, schema: text }, anthropicVersion],
    },
    answers: () => answered(200, json({ anyOf: [modelOfOpenAi, modelOfAnthropic] })),
  },
  {
    ...{ method: 'post', path: '/v1/embeddings', tag: 'other faces', name: 'ai.embed', refusals: asking },
    refusal: 'openai',
    more: { summary: 'Have texts embedded as programs written for OpenAI do' },
    request: embeddingRequest,
    body: asIs,
    answers: () => answered(200, json(embeddings)),
  },
  {
    ...{
      method: 'post',
      path: '/v1/messages/count_tokens',
      tag: 'other faces',
      name: 'ai.countTokens',
      refusals: asking,
    },
    refusal: 'anthropic',
    more: { summary: "Count the tokens of a message as programs written for Anthropic's messages do" },
    request: countRequest,
    body: asIs,
    answers: () => answered(200, json(objectOf({ input_tokens: whole, estimated: { type: 'boolean' } }))),
  },
]
