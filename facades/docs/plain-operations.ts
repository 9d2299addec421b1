import type { AnyTRPCProcedure, AnyTRPCRouter } from '@trpc/server'
import type { z } from 'zod'
import { accessOf, metaOf } from '../../routers/core/trpc.ts'
import { accessSentence, inputsOf } from '../http/procedures.ts'
import { type Components, constant, type Described, nullable, objectOf } from '../json-api/openapi/components.ts'
import { securityOf } from '../json-api/openapi/operations.ts'
import { legacyUser } from '../legacy/user.ts'
import { answered, json, type Plain, type Refusal } from './plain.ts'
import { plainEndpoints, tags } from './plain-endpoints.ts'

/** What these procedures answer with where their endpoint says it in other words. */
const translated: Record<string, z.ZodType> = { 'users.me': legacyUser }

/** The endpoints beside JSON:API whose procedures the router has. */
export function describePlain(router: AnyTRPCRouter, components: Components) {
  const procedures = router._def.procedures as Record<string, AnyTRPCProcedure>
  const served = plainEndpoints(components.names).flatMap((endpoint) => {
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
  const { path, name, tag, request, body, answers, more } = endpoint
  const [meta, access] = [metaOf(procedure), accessOf(procedure)]
  const id = path.slice(1).replaceAll('/', '.').replaceAll(/[{}]/g, '')
  const schemaOf = (kind: string, schema: z.ZodType | undefined, io: 'input' | 'output') =>
    schema ? components.use('schemas', kind, () => components.fromZod(schema, io)) : {}
  const sent = () =>
    request ? schemaOf(`${id}.input`, request, 'input') : schemaOf(`${name}.input`, inputsOf(procedure)[0], 'input')
  return {
    operationId: id,
    summary: meta.about?.replace(/\.$/, ''),
    description: accessSentence(access),
    tags: [tag],
    security: securityOf(access),
    ...more,
    ...(body && { requestBody: { required: true, content: json(body(sent())) } }),
    responses: {
      ...answers(schemaOf(`${name}.answer`, translated[name] ?? meta.answer, 'output')),
      ...refusalsOf(components, endpoint),
    },
  }
}

function refusalsOf(components: Components, { refusals, refusal: kind = 'plain' }: Plain): Described {
  if (kind === 'document')
    return Object.fromEntries(
      refusals
        .filter((status) => Object.hasOwn(components.responses, String(status)))
        .map((status) => [status, { $ref: `#/components/responses/${status}` }]),
    )
  const schema = components.use('schemas', kind === 'plain' ? 'refusal' : `refusal.${kind}`, () => shapes[kind])
  return Object.assign({}, ...refusals.map((status) => answered(status, json(schema))))
}

const text = { type: 'string' }

const openai = objectOf({
  error: objectOf({ message: text, type: text, param: nullable(text), code: nullable(text) }),
})
const anthropic = objectOf({
  type: constant('error'),
  error: objectOf({ type: text, message: text, code: text }),
  request_id: text,
})

/** How the endpoints outside JSON:API tell what went wrong. */
const shapes: Record<Exclude<Refusal, 'document'>, Described> = {
  plain: objectOf(
    {
      success: { type: 'boolean', const: false },
      message: text,
      code: { ...text, description: 'For programs.' },
      requestId: text,
      errors: {
        type: 'object',
        description: 'What is wrong with each field of the body, at 422.',
        additionalProperties: { type: 'array', items: text },
      },
    },
    ['errors'],
  ),
  openai,
  anthropic,
  either: { anyOf: [openai, anthropic] },
}
