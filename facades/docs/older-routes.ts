import { accessOf, metaOf, type ProcedureMeta } from '../../routers/core/trpc.ts'
import { sentenceFor } from '../../routers/resource/words.ts'
import { json } from '../http/openapi/endpoint.ts'
import { type Described, listOf, objectOf, text } from '../http/openapi/schema.ts'
import { accessSentence, type OlderRoute, procedureAt } from '../http/procedures.ts'
import type { Components } from '../json-api/openapi/components.ts'
import { securityOf } from '../json-api/openapi/operations.ts'

const tag = 'front ends that exist'
const about = 'What front ends of earlier versions call. New ones use JSON:API, or `/trpc`.'

/** The routes of front ends that exist, as they were registered. What they answer, those front ends know. */
export function describeOlder(routes: readonly OlderRoute[], components: Components) {
  const paths: Record<string, Record<string, Described>> = {}
  for (const route of routes) {
    const path = route.url.replaceAll(/:(\w+)/g, '{$1}')
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operationOf(components, route) }
  }
  return { paths, tags: routes.length > 0 ? [{ name: tag, description: about }] : [] }
}

function operationOf(components: Components, { url, procedure: name, body, query }: OlderRoute): Described {
  const procedure = procedureAt(name)
  if (!procedure) throw new Error(`There is no procedure ${name}.`)
  const access = accessOf(procedure)
  const id = url.slice(1).replaceAll('/', '.').replaceAll(':', '')
  return {
    operationId: id,
    summary: summaryOf(url, metaOf(procedure)),
    description: accessSentence(access),
    tags: [tag],
    security: securityOf(access),
    parameters: [
      ...[...url.matchAll(/:(\w+)/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: text })),
      ...Object.entries(query ? (components.fromZod(query, 'input').properties ?? {}) : {}).map(([name, schema]) => ({
        ...{ name, in: 'query', schema },
      })),
    ],
    ...(body && { requestBody: { required: true, content: contentOf(components.fromZod(body, 'input')) } }),
    responses: {
      '2XX': { description: 'Done.' },
      '4XX': { description: 'Refused.', content: json(components.use('schemas', 'refusal.older', () => refusal)) },
    },
  }
}

/** Several of these routes may call one procedure, so that the words of the address go before what it does. */
function summaryOf(url: string, { about, exposes }: ProcedureMeta): string {
  const words = url.split('/').filter((step) => step !== '' && step !== 'req' && !step.startsWith(':'))
  const sentence = about ?? (exposes ? sentenceFor(exposes) : '')
  return `${words.join(' ')}: ${sentence.replace(/\.$/, '')}`
}

const error = objectOf(
  {
    ...{ status: text, code: text, title: text, detail: text },
    ...{ source: objectOf({ pointer: text }), meta: objectOf({ requestId: text }) },
  },
  ['source'],
)
const ofFields = { type: 'object', additionalProperties: listOf(text) }
const refusal = objectOf(
  {
    ...{ success: { type: 'boolean', const: false }, message: text },
    errors: {
      anyOf: [listOf(error), ofFields],
      description: 'What is wrong, as in JSON:API. `/req/streamAI` names the fields of a body, at 422 alone.',
    },
    response: { ...text, description: '`Forbidden`: of rooms, at 403.' },
    error: { ...text, description: 'The message once more: of invitations.' },
    code: { ...text, description: 'For programs: of `/req/streamAI` alone.' },
    requestId: { ...text, description: 'Of `/req/streamAI` alone.' },
  },
  ['errors', 'response', 'error', 'code', 'requestId'],
)

/** What has a file in it is a form. */
function contentOf(schema: Described): Described {
  const { properties = {} } = schema as { properties?: Record<string, { format?: string }> }
  const isForm = Object.values(properties).some(({ format }) => format === 'binary')
  return isForm ? { 'multipart/form-data': { schema } } : json(schema)
}
