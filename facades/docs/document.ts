import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import type { z } from 'zod'
import { accessOf, metaOf, type ProcedureMeta } from '../../routers/core/trpc.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import { summarize } from '../../routers/resource/exposure.ts'
import type { WireNames } from '../http/names.ts'
import {
  describeAnswer,
  describeJson,
  describeList,
  describeObject,
  type Endpoint,
  type ErrorResponses,
  type JsonObject,
  text,
} from '../http/openapi.ts'
import { describeAccess, findProcedure, inputsOf, type LegacyRoute } from '../http/procedures.ts'
import type { Members } from '../json-api/members.ts'
import type { ComponentKind, Components } from '../json-api/openapi/components.ts'
import { describeJsonApi, describeSecurity, securitySchemes } from '../json-api/openapi/index.ts'
import type { Guide } from './guides.ts'

export interface OpenApiOptions {
  router: AnyTRPCRouter
  resources: readonly Resource[]
  names: WireNames
  /** The public address; empty for documents without a host. */
  baseUrl: string
  members?: Members
  /** Endpoints outside JSON:API. */
  endpoints?: readonly Endpoint[]
  /** Routes of legacy front ends. */
  legacyRoutes?: readonly LegacyRoute[]
  guides?: readonly Guide[]
}

/** Builds the OpenAPI document of the service. */
export function buildOpenApiDocument(options: OpenApiOptions): JsonObject {
  const { router, resources, names, baseUrl, members, endpoints = [], legacyRoutes = [], guides = [] } = options
  const { components, tags, paths } = describeJsonApi(router, resources, names, members)
  const others = describeEndpoints(endpoints, router, components)
  const legacy = describeLegacyRoutes(legacyRoutes, components)
  const allPaths = { ...others.paths, ...legacy.paths, ...paths }
  return {
    openapi: '3.1.1',
    info: {
      title: `${names.brand} API`,
      version: 'v1',
      description: writeIntroduction(names, baseUrl, guides),
      license: { name: 'MIT', identifier: 'MIT' },
      contact: { name: 'Whoever runs this service' },
    },
    servers: [{ url: baseUrl || '/' }],
    tags: [...others.tags, ...legacy.tags, ...tags],
    paths: allPaths,
    components: { ...pickUsedComponents(components, allPaths), securitySchemes: securitySchemes(names) },
  }
}

/** Selects the components that operations refer to. */
function pickUsedComponents(components: Components, paths: object): Record<ComponentKind, Record<string, JsonObject>> {
  const used: Record<ComponentKind, Record<string, JsonObject>> = { schemas: {}, parameters: {}, responses: {} }
  const follow = (value: unknown): void => {
    for (const [, kind = '', name = ''] of JSON.stringify(value).matchAll(/"#\/components\/(\w+)\/([^"]+)"/g)) {
      const found = used[kind as ComponentKind]
      if (Object.hasOwn(found, name)) continue
      found[name] = components[kind as ComponentKind][name] ?? {}
      follow(found[name])
    }
  }
  follow(paths)
  return used
}

const writeExample = (address: string) => `\
curl ${address}/api/ai-req \\
  -H "Authorization: Bearer $TOKEN" \\
  -H "Content-Type: application/json" \\
  -d '{"payload": {"model": "demo", "messages": [{"role": "user", "content": {"text": "Hello"}}]}}'`

/** Writes the introduction of the reference, in Markdown. */
const writeIntroduction = ({ basePath }: WireNames, baseUrl: string, guides: readonly Guide[]) => `\
One service, one access token: \`POST /api/ai-req\` asks a model, \`${basePath}\` is everything else as
[JSON:API 1.1](https://jsonapi.org/format/1.1/).

## First request

Make an access token on the page Tokens of [your settings](/settings/tokens), put it into \`TOKEN\`, and ask a model:

\`\`\`sh
${writeExample(baseUrl || 'http://127.0.0.1:3000')}
\`\`\`

${baseUrl ? '' : "`http://127.0.0.1:3000` stands for this service's address. "}\`demo\` stands for a model:
\`GET ${basePath}/ai-models\` lists those that you may use, each with its \`modelId\`. With \`Accept: text/event-stream\`
the answer comes as it is made.

## What every answer has

* \`x-request-id\`: errors name it too; quote it when you ask for help.
* An error has a \`code\` for programs and a sentence for people. 401 means that the token is missing or wrong, 403 that it
  lacks an ability, 422 that the input is not valid and where, 429 that you should wait for \`Retry-After\` seconds,
  or ask for less where there is none.

## Lists and changes

Lists take \`include\`, \`sort\`, \`filter[...]\`, \`page[number]\`, \`page[size]\` and \`fields[type]\`, each as the operation says. An
\`ETag\` sent back as \`If-None-Match\` saves an answer that has not changed; as \`If-Match\` it makes a change fail with 412 where
somebody else was faster. Creations and actions with the same \`Idempotency-Key\` happen once.

## Guides

${guides.map(({ slug, title }) => `[${title}](/docs/${slug})`).join(' · ')}
`

const tag = 'legacy'
const about = 'Routes of legacy front ends. New programs use JSON:API or `/trpc`.'

/** Describes the registered routes of legacy front ends, without their responses. */
function describeLegacyRoutes(routes: readonly LegacyRoute[], components: Components) {
  const paths: Record<string, Record<string, JsonObject>> = {}
  for (const route of routes) {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: describeLegacyRoute(components, route) }
  }
  return { paths, tags: routes.length > 0 ? [{ name: tag, description: about }] : [] }
}

function describeLegacyRoute(components: Components, { url, procedure: name, body, query }: LegacyRoute): JsonObject {
  const procedure = findProcedure(name)
  if (!procedure) throw new Error(`There is no procedure ${name}.`)
  const access = accessOf(procedure)
  const id = url.slice(1).replaceAll('/', '.').replaceAll(':', '')
  return {
    operationId: id,
    summary: writeSummary(url, metaOf(procedure)),
    description: describeAccess(procedure),
    tags: [tag],
    security: describeSecurity(access),
    parameters: [
      ...[...url.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: text })),
      ...Object.entries(query ? (components.fromZod(query, 'input').properties ?? {}) : {}).map(([name, schema]) => ({
        name,
        in: 'query',
        schema,
      })),
    ],
    ...(body && { requestBody: { required: true, content: toContent(components.fromZod(body, 'input')) } }),
    responses: {
      '2XX': { description: 'Done.' },
      '4XX': {
        description: 'Refused.',
        content: describeJson(components.use('schemas', 'refusal.older', () => refusal)),
      },
    },
  }
}

/** Writes the summary; the address comes first, because several routes may call one procedure. */
function writeSummary(url: string, { about, exposes }: ProcedureMeta): string {
  const words = url.split('/').filter((step) => step !== '' && step !== 'req' && !step.startsWith(':'))
  const sentence = about ?? (exposes ? summarize(exposes) : '')
  return `${words.join(' ')}: ${sentence.replace(/\.$/, '')}`
}

const error = describeObject(
  {
    status: text,
    code: text,
    title: text,
    detail: text,
    source: describeObject({ pointer: text }),
    meta: describeObject({ requestId: text }),
  },
  ['source'],
)
const fieldErrors = { type: 'object', additionalProperties: describeList(text) }
const refusal = describeObject(
  {
    success: { type: 'boolean', const: false },
    message: text,
    errors: {
      anyOf: [describeList(error), fieldErrors],
      description: 'The errors, as in JSON:API; at 422 of `/req/streamAI`, the errors of each field.',
    },
    response: { ...text, description: '`Forbidden`; only for rooms, at 403.' },
    error: { ...text, description: 'The message again; only for invitations.' },
    code: { ...text, description: 'An error code for programs; only for `/req/streamAI`.' },
    requestId: { ...text, description: 'The id of the request; only for `/req/streamAI`.' },
  },
  ['errors', 'response', 'error', 'code', 'requestId'],
)

/** Describes a body; one with a file is a form. */
function toContent(schema: JsonObject): JsonObject {
  const { properties = {} } = schema as { properties?: Record<string, { format?: string }> }
  const isForm = Object.values(properties).some(({ format }) => format === 'binary')
  return isForm ? { 'multipart/form-data': { schema } } : describeJson(schema)
}

const tags = [
  { name: 'ai', description: 'Questions to AI models.' },
  { name: 'other faces', description: 'Questions of programs that know the API of OpenAI or Anthropic.' },
  { name: 'caller', description: 'The owner of the access token.' },
  { name: 'health', description: 'The state of the service.' },
  { name: 'links', description: 'Previews of linked pages.' },
]

/** Describes the endpoints outside JSON:API, grouped by procedure. */
function describeEndpoints(endpoints: readonly Endpoint[], router: AnyTRPCRouter, components: Components) {
  const procedures = router._def.procedures as Record<string, AnyTRPCProcedure>
  const byProcedure = Object.groupBy(endpoints, ({ name }) => name)
  const paths = Object.entries(byProcedure).flatMap(([name, served = []]) => {
    const procedure = procedures[name]
    if (!procedure) throw new Error(`There is no procedure ${name}.`)
    return served.map((it) => [it.path, { [it.method]: describeEndpoint(components, it, procedure) }] as const)
  })
  const used = new Set(endpoints.map(({ tag }) => tag))
  return { paths: Object.fromEntries(paths), tags: tags.filter(({ name }) => used.has(name)) }
}

function describeEndpoint(components: Components, endpoint: Endpoint, procedure: AnyTRPCProcedure): JsonObject {
  const { path, name, tag, refusals, request, details, answer, body, answers, more } = endpoint
  const meta = metaOf(procedure)
  const access = accessOf(procedure)
  const id = path.slice(1).replaceAll('/', '.').replaceAll(/[{}]/g, '')
  const buildSchema = (kind: string, schema: z.ZodType | undefined, io: 'input' | 'output') =>
    schema ? components.use('schemas', kind, () => components.fromZod(schema, io)) : {}
  const buildInputSchema = () =>
    request
      ? buildSchema(`${id}.input`, request, 'input')
      : buildSchema(`${name}.input`, inputsOf(procedure)[0], 'input')
  return {
    operationId: id,
    summary: meta.about?.replace(/\.$/, ''),
    description: [describeAccess(procedure), details].filter(Boolean).join('\n\n'),
    tags: [tag],
    security: describeSecurity(access),
    ...more,
    ...(body && { requestBody: { required: true, content: describeJson(body(buildInputSchema())) } }),
    responses: {
      ...answers(buildSchema(`${name}.answer`, answer ?? meta.answer, 'output')),
      ...(refusals && describeRefusals(components, refusals)),
    },
  }
}

function describeRefusals(components: Components, { statuses, body }: ErrorResponses): JsonObject {
  if (body) {
    const schema = components.use('schemas', body.name, () => body.schema)
    return Object.assign({}, ...statuses.map((status) => describeAnswer(status, describeJson(schema))))
  }
  const known = statuses.filter((status) => Object.hasOwn(components.responses, String(status)))
  return Object.fromEntries(known.map((status) => [status, { $ref: `#/components/responses/${status}` }]))
}
