import { type DetailedIssue, fewIssues, issuesOf, UNKNOWN_MEMBER } from '../../routers/core/issues.ts'
import { type Issue, Problem, sentenceOf } from '../../routers/core/problems.ts'
import { failureOf } from '../http/failure.ts'
import { phraseOf } from '../http/validation-messages.ts'
import type { Route } from './routes.ts'
import { jsonapi, memberName } from './wire.ts'

export interface ErrorObject {
  status: string
  code: string
  title: string
  detail?: string
  source?: { parameter: string } | { pointer: string } | { header: string }
  meta: { requestId: string }
}

export interface ErrorDocument {
  status: number
  body: { jsonapi: typeof jsonapi; errors: ErrorObject[] }
}

/** What is known of the request that failed. */
export interface Failed {
  requestId: string
  route?: Route | undefined
  body?: unknown
}

/** One sentence per code: it does not change from one occurrence to the next. */
const titles: Record<string, string> = {
  unsupported_include: 'This include path is not supported.',
  unsupported_sort: 'This order is not supported.',
  unsupported_filter: 'This filter is not supported.',
  unsupported_fields: 'This field does not exist.',
  unsupported_parameter: 'This parameter is not supported.',
  invalid_page: 'This page is not valid.',
  invalid_attribute: 'An attribute is not valid.',
  invalid_relationship: 'A relationship is not valid.',
  invalid_document: 'The document is not valid.',
  internal: 'Something went wrong on the server.',
}

const headerOf: Record<string, string> = {
  unsupported_media_type: 'Content-Type',
  not_acceptable: 'Accept',
  precondition_failed: 'If-Match',
  idempotency_key: 'Idempotency-Key',
  idempotency_conflict: 'Idempotency-Key',
}

/** The document for whatever was thrown: one entry per problem, and nothing of the server's inside. */
export function errorDocument(thrown: unknown, failed: Failed): ErrorDocument {
  const { status, code, message, error } = failureOf(thrown)
  const issues = issuesOf(error)
  const isQuery = code === 'invalid_query' || (code === 'invalid' && failed.route?.method === 'GET')
  // An id that cannot be one is not there.
  if (code === 'invalid' && failed.route?.url.includes('/:id') && issues.some(({ path }) => path[0] === 'id'))
    return errorDocument(new Problem('not_found'), failed)
  const closed = code === 'invalid' && !isQuery ? issues : []
  if (closed.length > 0 && closed.every((issue) => isReadOnly(issue, failed.route)))
    return errorDocument(new Problem('read_only', { issues: closed }), failed)
  const final = isQuery ? 400 : status
  const found =
    issues.length > 0
      ? fewIssues(distinct(issues)).map((issue) => (isQuery ? parameter(issue) : member(issue, code, failed)))
      : [whole(code, message)]
  const errors = found.map((entry) => ({ status: String(final), ...entry, meta: { requestId: failed.requestId } }))
  return { status: final, body: { jsonapi, errors } }
}

/** One value is one problem, however many rules of its schema it breaks. */
const distinct = (issues: readonly DetailedIssue[]) =>
  [...Map.groupBy(issues, (issue) => JSON.stringify([issue.path, 'code' in issue || issue.message])).values()].flatMap(
    ([first]) => first ?? [],
  )

/** An attribute or a relation of the type that the procedure does not take. */
const isReadOnly = ({ path: [name = '', ...below], message }: DetailedIssue, route: Route | undefined) =>
  message === UNKNOWN_MEMBER &&
  below.length === 0 &&
  route !== undefined &&
  route.answers !== 'action' &&
  (Object.hasOwn(route.resource.attributes, name) || Object.hasOwn(route.resource.relations, name))

type Entry = Omit<ErrorObject, 'status' | 'meta'>

function whole(code: string, message: string): Entry {
  const title = titleOf(code)
  const header = headerOf[code]
  return { code, title, ...(message !== title && { detail: message }), ...(header && { source: { header } }) }
}

const titleOf = (code: string) => titles[code] ?? sentenceOf(code) ?? 'The request could not be understood.'

function parameter(issue: DetailedIssue): Entry {
  const { path } = issue
  const [first = '', second] = path.map(String)
  const family = /^\w+/.exec(first)?.[0] ?? first
  const name = second !== undefined && (family === 'page' || family === 'filter') ? `${family}[${second}]` : first
  const code =
    family === 'page'
      ? 'invalid_page'
      : `unsupported_${family}` in titles
        ? `unsupported_${family}`
        : 'unsupported_parameter'
  return { code, title: titleOf(code), detail: `${name} ${phraseOf(issue)}.`, source: { parameter: name } }
}

/** A member of the body, or the nearest one above it that is there. */
function member(issue: DetailedIssue, code: string, { route, body }: Failed): Entry {
  const { path } = issue
  const full = path[0] === 'data' || route?.answers === 'action' ? path : inDocument(path, route)
  const name = path.join('.') || 'The document'
  const isClosed = isReadOnly(issue, route)
  const named = isClosed
    ? 'read_only'
    : code.startsWith('invalid')
      ? (kinds[String(full[1])] ?? 'invalid_document')
      : code
  const phrase = isClosed ? 'is read-only' : phraseOf(issue)
  return { code: named, title: titleOf(named), detail: `${name} ${phrase}.`, source: { pointer: existing(body, full) } }
}

const kinds: Record<string, string> = { attributes: 'invalid_attribute', relationships: 'invalid_relationship' }

function inDocument([name, ...rest]: Issue['path'], route: Route | undefined): (string | number)[] {
  if (name === undefined) return ['data']
  if (name === 'ids') return rest.length > 0 ? ['data', ...rest, 'id'] : ['data']
  const isRelation = route && Object.hasOwn(route.resource.relations, name)
  const written = memberName(String(name))
  return isRelation ? ['data', 'relationships', written, 'data', ...rest] : ['data', 'attributes', written, ...rest]
}

function existing(body: unknown, path: readonly (string | number)[]): string {
  const steps: string[] = []
  let at = body
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) break
    at = (at as Record<string | number, unknown>)[step]
    steps.push(String(step).replaceAll('~', '~0').replaceAll('/', '~1'))
  }
  return steps.map((step) => `/${step}`).join('')
}
