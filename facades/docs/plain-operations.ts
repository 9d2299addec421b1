import { STATUS_CODES } from 'node:http'
import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import type { z } from 'zod'
import { accessOf, metaOf } from '../../routers/core/trpc.ts'
import { accessSentence, inputsOf } from '../http/procedures.ts'
import { type Components, type Described, objectOf } from '../json-api/openapi/components.ts'
import { securityOf } from '../json-api/openapi/operations.ts'
import { legacyUser } from '../legacy/user.ts'

/** An endpoint outside JSON:API, described by the schemas of the procedure that it calls. */
interface Plain {
  method: 'get' | 'post'
  path: string
  /** The procedure's path in the router. */
  name: string
  tag: string
  refusals: readonly number[]
  /** Where there is more to say than the procedure does. */
  more?: Described
  body?(input: Described): Described
  answers(answer: Described): Described
}

const json = (schema: Described) => ({ 'application/json': { schema } })
const answered = (status: number, content: Described) => ({ [status]: { description: STATUS_CODES[status], content } })

const events = `\`delta\` events with pieces of \`text\`, one \`usage\` event with the tokens, then \`done\`, or \`error\` with a code.`

const endpoints: readonly Plain[] = [
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
        'text/event-stream': { schema: { type: 'string', description: events } },
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

const tags = [
  { name: 'ai', description: 'Asking AI models.' },
  { name: 'caller', description: 'Who the access token belongs to.' },
  { name: 'health', description: 'Whether the service works.' },
]

/** What these procedures answer with where their endpoint says it in other words. */
const translated: Record<string, z.ZodType> = { 'users.me': legacyUser }

/** The endpoints beside JSON:API whose procedures the router has. */
export function describePlain(router: AnyTRPCRouter, components: Components) {
  const procedures = router._def.procedures as Record<string, AnyTRPCProcedure>
  const served = endpoints.flatMap((endpoint) => {
    const procedure = procedures[endpoint.name]
    return procedure ? [{ endpoint, procedure }] : []
  })
  const paths = Object.fromEntries(
    served.map(({ endpoint, procedure }) => [
      endpoint.path,
      { [endpoint.method]: operationOf(components, endpoint, procedure) },
    ]),
  )
  return { paths, tags: tags.filter(({ name }) => served.some(({ endpoint }) => endpoint.tag === name)) }
}

function operationOf(components: Components, endpoint: Plain, procedure: AnyTRPCProcedure): Described {
  const { path, name, tag, refusals, body, answers, more } = endpoint
  const [meta, access] = [metaOf(procedure), accessOf(procedure)]
  const schemaOf = (kind: string, schema: z.ZodType | undefined, io: 'input' | 'output') =>
    schema ? components.use('schemas', `${name}.${kind}`, () => components.fromZod(schema, io)) : {}
  const refusal = components.use('schemas', 'refusal', () => refused)
  return {
    operationId: path.slice(1).replaceAll('/', '.'),
    summary: meta.about?.replace(/\.$/, ''),
    description: accessSentence(access),
    tags: [tag],
    security: securityOf(access),
    ...more,
    ...(body && {
      requestBody: { required: true, content: json(body(schemaOf('input', inputsOf(procedure)[0], 'input'))) },
    }),
    responses: {
      ...answers(schemaOf('answer', translated[name] ?? meta.answer, 'output')),
      ...Object.assign({}, ...refusals.map((status) => answered(status, json(refusal)))),
    },
  }
}

/** How the endpoints outside JSON:API tell what went wrong. */
const refused = objectOf(
  {
    success: { type: 'boolean', const: false },
    message: { type: 'string' },
    code: { type: 'string', description: 'For programs.' },
    requestId: { type: 'string' },
    errors: {
      type: 'object',
      description: 'What is wrong with each field of the body, at 422.',
      additionalProperties: { type: 'array', items: { type: 'string' } },
    },
  },
  ['errors'],
)
