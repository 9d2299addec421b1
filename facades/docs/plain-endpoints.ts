import { STATUS_CODES } from 'node:http'
import type { z } from 'zod'
import { messageRequest } from '../anthropic/messages/request.ts'
import { previewPath } from '../http/link-preview.ts'
import type { WireNames } from '../http/names.ts'
import { constant, type Described, listOf, nullable, objectOf } from '../json-api/openapi/components.ts'
import { chatRequest } from '../openai/chat/request.ts'
import { responseRequest } from '../openai/responses/request.ts'

/** How an endpoint tells what went wrong. */
export type Refusal = 'plain' | 'openai' | 'anthropic' | 'either' | 'document'

/** An endpoint outside JSON:API, described by the schemas of the procedure that it calls. */
export interface Plain {
  method: 'get' | 'post'
  path: string
  /** The procedure's path in the router. */
  name: string
  tag: string
  refusals: readonly number[]
  refusal?: Refusal
  /** Where there is more to say than the procedure does. */
  more?: Described
  /** Its own body, where it is not the procedure's input. */
  request?: z.ZodType
  body?(input: Described): Described
  answers(answer: Described): Described
}

export const json = (schema: Described): Described => ({ 'application/json': { schema } })
export const answered = (status: number, content: Described): Described => ({
  [status]: { description: STATUS_CODES[status], content },
})

const text = { type: 'string' }
const whole = { type: 'integer' }
const events = (description: string) => ({ 'text/event-stream': { schema: { type: 'string', description } } })
const pieces = `\`delta\` events with pieces of \`text\`, one \`usage\` event with the tokens, then \`done\`, or \`error\` with a code.`
const asIs = (input: Described) => input

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

const models = {
  anyOf: [
    objectOf({
      object: constant('list'),
      data: listOf(objectOf({ id: text, object: constant('model'), created: whole, owned_by: text })),
    }),
    objectOf({
      data: listOf(objectOf({ type: constant('model'), id: text, display_name: text, created_at: text })),
      has_more: { type: 'boolean' },
      first_id: nullable(text),
      last_id: nullable(text),
    }),
  ],
}

const spoken = { tag: 'other faces', name: 'ai.complete' } as const
const asking = [400, 401, 403, 404, 413, 415, 429, 500]
const previewing = [401, 403, 413, 415, 422, 429]
const refused = [401, 403, 422, 429]

/** For programs that know the API of another. */
const otherFaces: readonly Plain[] = [
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
      parameters: [{ name: 'anthropic-version', in: 'header', schema: text }],
    },
    answers: () => answered(200, json(models)),
  },
]

const ownEndpoints: readonly Plain[] = [
  {
    method: 'post',
    path: '/api/ai-req',
    name: 'ai.ask',
    tag: 'ai',
    refusals: [401, 403, 413, 415, 422, 429, 500],
    body: (input) => objectOf({ payload: input }),
    answers: (answer) =>
      answered(200, {
        ...json(objectOf({ success: { type: 'boolean', const: true }, content: answer })),
        ...events(pieces),
      }),
  },
  {
    method: 'get',
    path: '/api/user',
    name: 'users.me',
    tag: 'caller',
    refusals: [401, 403, 500],
    more: { deprecated: true, summary: 'Read the caller, as older programs expect it' },
    answers: (answer) => answered(200, json(answer)),
  },
  {
    method: 'get',
    path: '/health',
    name: 'health.check',
    tag: 'health',
    refusals: [],
    answers: (answer) => ({ ...answered(200, json(answer)), ...answered(503, json(answer)) }),
  },
]

const url = { name: 'url', in: 'query', required: true, schema: { type: 'string', maxLength: 2048 } }

/** What links lead to: the older address, and those below JSON:API, whose errors are documents. */
const previews = ({ basePath }: WireNames): Plain[] => [
  {
    ...{ method: 'post', path: '/api/link-preview', name: 'linkPreviews.metadata', tag: 'links', refusals: previewing },
    more: { deprecated: true, summary: 'Read what a page says of itself, as older front ends ask for it' },
    body: asIs,
    answers: (answer) => answered(200, json(answer)),
  },
  {
    ...{
      method: 'get',
      path: `${basePath}${previewPath}/metadata`,
      name: 'linkPreviews.metadata',
      tag: 'links',
      refusals: refused,
      refusal: 'document',
    },
    more: { parameters: [url] },
    answers: (answer) => answered(200, json(answer)),
  },
  ...(['image', 'favicon'] as const).map(
    (kind): Plain => ({
      ...{
        method: 'get',
        path: `${basePath}${previewPath}/${kind}`,
        name: `linkPreviews.${kind}`,
        tag: 'links',
        refusals: refused,
        refusal: 'document',
      },
      more: { parameters: [url] },
      answers: () => answered(200, { 'image/*': { schema: { type: 'string', format: 'binary' } } }),
    }),
  ),
]

export const plainEndpoints = (names: WireNames): Plain[] => [...ownEndpoints, ...otherFaces, ...previews(names)]

export const tags = [
  { name: 'ai', description: 'Asking AI models.' },
  { name: 'other faces', description: 'The same for programs that know the API of OpenAI or Anthropic.' },
  { name: 'caller', description: 'Who the access token belongs to.' },
  { name: 'health', description: 'Whether the service works.' },
  { name: 'links', description: 'What links lead to.' },
]
