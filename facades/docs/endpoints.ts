import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import type { z } from 'zod'
import { accessOf, metaOf } from '../../routers/core/trpc.ts'
import { answered, type Endpoint, json, type Refusals } from '../http/openapi/endpoint.ts'
import type { Described } from '../http/openapi/schema.ts'
import { accessSentence, inputsOf } from '../http/procedures.ts'
import type { Components } from '../json-api/openapi/components.ts'
import { securityOf } from '../json-api/openapi/operations.ts'

const tags = [
  { name: 'ai', description: 'Asking AI models.' },
  { name: 'other faces', description: 'The same for programs that know the API of OpenAI or Anthropic.' },
  { name: 'caller', description: 'Who the access token belongs to.' },
  { name: 'health', description: 'Whether the service works.' },
  { name: 'links', description: 'What links lead to.' },
]

/** The endpoints beside JSON:API, those of one procedure together. */
export function describeEndpoints(endpoints: readonly Endpoint[], router: AnyTRPCRouter, components: Components) {
  const procedures = router._def.procedures as Record<string, AnyTRPCProcedure>
  const byProcedure = Object.groupBy(endpoints, ({ name }) => name)
  const paths = Object.entries(byProcedure).flatMap(([name, served = []]) => {
    const procedure = procedures[name]
    if (!procedure) throw new Error(`There is no procedure ${name}.`)
    return served.map((it) => [it.path, { [it.method]: operationOf(components, it, procedure) }] as const)
  })
  const used = new Set(endpoints.map(({ tag }) => tag))
  return { paths: Object.fromEntries(paths), tags: tags.filter(({ name }) => used.has(name)) }
}

function operationOf(components: Components, endpoint: Endpoint, procedure: AnyTRPCProcedure): Described {
  const { path, name, tag, refusals, request, details, answer, body, answers, more } = endpoint
  const [meta, access] = [metaOf(procedure), accessOf(procedure)]
  const id = path.slice(1).replaceAll('/', '.').replaceAll(/[{}]/g, '')
  const schemaOf = (kind: string, schema: z.ZodType | undefined, io: 'input' | 'output') =>
    schema ? components.use('schemas', kind, () => components.fromZod(schema, io)) : {}
  const sent = () =>
    request ? schemaOf(`${id}.input`, request, 'input') : schemaOf(`${name}.input`, inputsOf(procedure)[0], 'input')
  return {
    operationId: id,
    summary: meta.about?.replace(/\.$/, ''),
    description: [accessSentence(access), details].filter(Boolean).join('\n\n'),
    tags: [tag],
    security: securityOf(access),
    ...more,
    ...(body && { requestBody: { required: true, content: json(body(sent())) } }),
    responses: {
      ...answers(schemaOf(`${name}.answer`, answer ?? meta.answer, 'output')),
      ...(refusals && refusalsOf(components, refusals)),
    },
  }
}

function refusalsOf(components: Components, { statuses, body }: Refusals): Described {
  if (body) {
    const schema = components.use('schemas', body.name, () => body.schema)
    return Object.assign({}, ...statuses.map((status) => answered(status, json(schema))))
  }
  const known = statuses.filter((status) => Object.hasOwn(components.responses, String(status)))
  return Object.fromEntries(known.map((status) => [status, { $ref: `#/components/responses/${status}` }]))
}
