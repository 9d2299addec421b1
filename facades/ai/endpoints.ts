import {
  constant,
  describeAnswer,
  describeAsIs,
  describeJson,
  describeList,
  describeObject,
  type Endpoint,
  type ErrorResponses,
  integer,
  nullable,
  text,
} from '../http/openapi.ts'

const tag = 'other faces'

const openAiError = describeObject({
  error: describeObject({ message: text, type: text, param: nullable(text), code: nullable(text) }),
})
const anthropicError = describeObject({
  type: constant('error'),
  error: describeObject({ type: text, message: text, code: text }),
  request_id: text,
})

/** Members of an endpoint that calls a model, with the error body of its API. */
const describeModelCall = (body: NonNullable<ErrorResponses['body']>) =>
  ({
    method: 'post',
    tag,
    refusals: { statuses: [400, 401, 403, 404, 413, 415, 429, 500], body },
    body: describeAsIs,
  }) as const

export const openAiModelCall = describeModelCall({ name: 'refusal.openai', schema: openAiError })
export const anthropicModelCall = describeModelCall({ name: 'refusal.anthropic', schema: anthropicError })

const eitherRefusal = { name: 'refusal.either', schema: { anyOf: [openAiError, anthropicError] } }

const openAiModel = describeObject({ id: text, object: constant('model'), created: integer, owned_by: text })
const anthropicModel = describeObject({ type: constant('model'), id: text, display_name: text, created_at: text })

const models = {
  anyOf: [
    describeObject({ object: constant('list'), data: describeList(openAiModel) }),
    describeObject({
      data: describeList(anthropicModel),
      has_more: { type: 'boolean' },
      first_id: nullable(text),
      last_id: nullable(text),
    }),
  ],
}

const anthropicVersion = { name: 'anthropic-version', in: 'header', schema: text }

/** The addresses that both faces serve, distinguished by a header. */
export const modelEndpoints: readonly Endpoint[] = [
  {
    method: 'get',
    path: '/v1/models',
    tag,
    name: 'ai.models',
    refusals: { statuses: [401, 403], body: eitherRefusal },
    more: {
      summary: 'List the models that the caller may use, as OpenAI does, or Anthropic where its version is named',
      parameters: [anthropicVersion],
    },
    answers: () => describeAnswer(200, describeJson(models)),
  },
  {
    method: 'get',
    path: '/v1/models/{model}',
    tag,
    name: 'ai.models',
    refusals: { statuses: [401, 403, 404], body: eitherRefusal },
    more: {
      summary: 'Read a model that the caller may use, as OpenAI does, or Anthropic where its version is named',
      parameters: [{ name: 'model', in: 'path', required: true, schema: text }, anthropicVersion],
    },
    answers: () => describeAnswer(200, describeJson({ anyOf: [openAiModel, anthropicModel] })),
  },
]
