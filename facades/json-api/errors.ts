import {
  type DetailedIssue,
  isGeneric,
  isUnknownMember,
  listChoices,
  readIssues,
  truncateIssues,
} from '../../routers/core/issues.ts'
import { type ErrorCode, getErrorKind, type Issue, Problem } from '../../routers/core/problems.ts'
import { toFailure } from '../http/failure.ts'
import { inputsOf } from '../http/procedures.ts'
import { hasResourceObject } from './body.ts'
import type { DocumentContext } from './members.ts'
import { jsonapi, type Route } from './routes.ts'

interface ErrorObject {
  status: string
  code: ErrorCode
  title: string
  detail?: string
  source?: { parameter: string } | { pointer: string } | { header: string }
  meta: { requestId: string; position?: string }
}

interface ErrorDocument {
  status: number
  body: { jsonapi: typeof jsonapi; errors: ErrorObject[] }
}

/** The failed request, as far as it is known. */
interface FailedRequest {
  requestId: string
  route?: Route | undefined
  body?: unknown
  /** URL pattern of the route, with `:id` for an id. */
  url?: string | undefined
  /** Status of an invalid query value, if it differs from the 400 of an unknown parameter. */
  valueStatus?: number | undefined
  documentContext: Pick<DocumentContext, 'members' | 'resources'>
}

/** Builds the error document of any thrown value: one entry per problem, without internal details. */
export function buildErrorDocument(thrown: unknown, request: FailedRequest): ErrorDocument {
  const { status, code, message, error } = toFailure(thrown)
  const issues = readIssues(error)
  const isQuery = isAboutQuery(code, request)
  // An impossible id is not found.
  if (code === 'invalid' && issues.some((issue) => isInAddress(issue, request)))
    return buildErrorDocument(new Problem('not_found'), request)
  const bodyIssues = code === 'invalid' && !isQuery ? issues : []
  if (bodyIssues.length > 0 && bodyIssues.every((issue) => isReadOnly(issue, request.route)))
    return buildErrorDocument(new Problem('read_only', { issues: bodyIssues }), request)
  const finalStatus = isQuery ? chooseQueryStatus(issues, request) : status
  const entries =
    issues.length > 0
      ? truncateIssues(dropDuplicates(issues)).map((issue) =>
          isQuery ? toParameterEntry(issue, request) : toMemberEntry(issue, code, request),
        )
      : [toGeneralEntry(code, message)]
  const errors = entries.map((entry) => ({
    status: String(finalStatus),
    ...entry,
    meta: { requestId: request.requestId, ...readMeta(error) },
  }))
  return { status: finalStatus, body: { jsonapi, errors } }
}

const isAboutQuery = (code: ErrorCode, { route, valueStatus }: FailedRequest) =>
  code === 'invalid_query' || (code === 'invalid' && (route?.method === 'GET' || valueStatus !== undefined))

const chooseQueryStatus = (issues: readonly DetailedIssue[], { valueStatus = 400 }: FailedRequest) =>
  issues.some(isUnknownMember) ? 400 : valueStatus

const readMeta = (error: unknown) => (error instanceof Problem ? error.meta : {})

/** Keeps one issue per value, however many rules it breaks. */
const dropDuplicates = (issues: readonly DetailedIssue[]) =>
  [...Map.groupBy(issues, (issue) => JSON.stringify([issue.path, 'code' in issue || issue.message])).values()].flatMap(
    ([first]) => first ?? [],
  )

const isInAddress = ({ path }: DetailedIssue, { url = '' }: FailedRequest): boolean =>
  url.split('/').includes(`:${String(path[0])}`)

/** Returns true for a declared attribute or relation that the procedure does not accept. */
function isReadOnly(issue: DetailedIssue, route: Route | undefined): boolean {
  const [name = '', ...below] = issue.path
  return (
    isUnknownMember(issue) &&
    below.length === 0 &&
    route !== undefined &&
    route.answers !== 'action' &&
    (Object.hasOwn(route.resource.attributes, name) || Object.hasOwn(route.resource.relations, name))
  )
}

type Entry = Omit<ErrorObject, 'status' | 'meta'>

function toGeneralEntry(code: ErrorCode, message: string): Entry {
  const { title, header } = getErrorKind(code)
  return { code, title, ...(message !== title && { detail: message }), ...(header && { source: { header } }) }
}

const getTitle = (code: ErrorCode) => getErrorKind(code).title

/** Error codes by parameter family. */
const parameterCodes = new Map<string, ErrorCode>([
  ['include', 'unsupported_include'],
  ['sort', 'unsupported_sort'],
  ['filter', 'unsupported_filter'],
  ['fields', 'unsupported_fields'],
  ['page', 'invalid_page'],
  ['url', 'invalid'],
])

function toParameterEntry(declared: DetailedIssue, request: FailedRequest): Entry {
  const issue = toWrittenParameter(declared, request)
  const { path } = issue
  const [first = '', second] = path.map(String)
  const family = /^\w+/.exec(first)?.[0] ?? first
  const name = second !== undefined && (family === 'page' || family === 'filter') ? `${family}[${second}]` : first
  const code = parameterCodes.get(family) ?? 'unsupported_parameter'
  return { code, title: getTitle(code), detail: `${name} ${issue.message}.`, source: { parameter: name } }
}

/** Translates an issue of a parameter to wire names. */
function toWrittenParameter(
  issue: DetailedIssue,
  { route, documentContext: { members, resources } }: FailedRequest,
): DetailedIssue {
  const [family, name, ...rest] = issue.path
  const { filters = {} } = (route?.relation && resources.get(route.relation.of.to)) ?? route?.resource ?? {}
  const isFilter = family === 'filter' && typeof name === 'string' && Object.hasOwn(filters, name)
  const isName = family === 'include' || family === 'sort'
  return {
    ...issue,
    ...(isFilter && { path: [family, members.write(name), ...rest] }),
    ...(isName &&
      isGeneric(issue) &&
      issue.values && { message: listChoices(issue.values.map((value) => members.write(String(value)))) }),
  }
}

/** Builds an entry for a member of the body, or its nearest existing parent. */
function toMemberEntry(issue: DetailedIssue, code: ErrorCode, request: FailedRequest): Entry {
  const { route, body } = request
  const path = toWrittenPath(issue.path, request)
  const full = path[0] === 'data' ? path : toDocumentPath(path, issue.path, request)
  const name = path.join('.') || 'The document'
  const isClosed = isReadOnly(issue, route)
  const namedCode: ErrorCode = isClosed
    ? 'read_only'
    : code.startsWith('invalid')
      ? (codesByMember[String(full[1])] ?? 'invalid_document')
      : code
  const phrase = isClosed ? 'is read-only' : issue.message
  return {
    code: namedCode,
    title: getTitle(namedCode),
    detail: `${name} ${phrase}.`,
    source: { pointer: toPointer(body, full) },
  }
}

const codesByMember: Partial<Record<string, ErrorCode>> = {
  attributes: 'invalid_attribute',
  relationships: 'invalid_relationship',
}

/** Translates an input path to wire names. */
function toWrittenPath(path: Issue['path'], { route, documentContext: { members } }: FailedRequest): Issue['path'] {
  const [name = '', ...rest] = path
  if (!route || name === 'data') return path
  if (route.answers === 'action' && route.procedure) return members.mapInput(inputsOf(route.procedure)).path(path)
  if (Object.hasOwn(route.resource.relations, name)) return [members.write(String(name)), ...rest]
  return members.mapAttributes(route.resource).path(path)
}

function toDocumentPath(path: Issue['path'], [name]: Issue['path'], { route, body }: FailedRequest): Issue['path'] {
  if (route?.answers === 'action') return hasResourceObject(body) ? ['data', 'attributes', ...path] : path
  const [written, ...rest] = path
  if (name === undefined || written === undefined) return ['data']
  if (name === 'ids') return rest.length > 0 ? ['data', ...rest, 'id'] : ['data']
  const isRelation = route && Object.hasOwn(route.resource.relations, name)
  return isRelation ? ['data', 'relationships', written, 'data', ...rest] : ['data', 'attributes', written, ...rest]
}

function toPointer(body: unknown, path: Issue['path']): string {
  const steps: string[] = []
  let at = body
  for (const step of path) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, step)) break
    at = (at as Record<string | number, unknown>)[step]
    steps.push(String(step).replaceAll('~', '~0').replaceAll('/', '~1'))
  }
  return steps.map((step) => `/${step}`).join('')
}
