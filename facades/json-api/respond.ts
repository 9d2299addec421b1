import type { StreamPosition } from '../../routers/core/hooks.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import type { RecordRef } from '../../routers/resource/record.ts'
import type { Page } from '../../routers/verbs/read.ts'
import { type Document, type DocumentContext, encode, identify, type SparseFields, selfOf } from './document.ts'
import { pageOf } from './page.ts'
import type { ParsedQuery } from './query.ts'
import type { Route } from './routes.ts'
import { jsonapi } from './wire.ts'

export interface RouteResult {
  documentContext: DocumentContext
  route: Route
  query: ParsedQuery
  url: string
  output: unknown
  /** What was written to the change log, where callers are told. */
  positions: readonly StreamPosition[]
}

/** What an action returns in addition to a record, or instead of one. */
interface ActionOutput {
  data?: RecordRef | RecordRef[] | null
  meta?: Record<string, unknown>
}

/** The document for what a procedure returned, by what its route answers with. */
export function documentOf({ documentContext, route, query, url, output }: RouteResult): Document {
  const { answers, resource, relation } = route
  const sparseFields: SparseFields = { include: query.input.include, fields: query.fields }
  if (answers === 'nothing') return { jsonapi }
  if (answers === 'action') return actionDocument(documentContext, resource, output as ActionOutput, sparseFields)
  const target = relation ? (documentContext.resources.get(relation.of.to) as Resource) : resource
  const records = isPage(output) ? output.items : (output as RecordRef | RecordRef[] | null)
  const self =
    answers === 'created'
      ? selfOf(documentContext, resource.type, output as RecordRef)
      : `${documentContext.origin}${url}`
  const around = isPage(output) && target.page ? pageOf(output, self) : { links: { self } }
  if (answers === 'linkage') return { jsonapi, ...around, data: linkage(target.type, records) }
  return { ...encode(documentContext, target, records, sparseFields), ...around }
}

function actionDocument(
  documentContext: DocumentContext,
  resource: Resource,
  { data, meta }: ActionOutput,
  sparseFields: SparseFields,
): Document {
  const document = data === undefined ? { jsonapi } : encode(documentContext, resource, data, sparseFields)
  if (!meta) return document
  const written = Object.entries(meta).map(([name, value]) => [documentContext.members.write(name), value])
  return { ...document, meta: Object.fromEntries(written) }
}

const isPage = (output: unknown): output is Page<RecordRef> =>
  typeof output === 'object' && output !== null && 'items' in output

function linkage(type: string, records: RecordRef | RecordRef[] | null) {
  if (Array.isArray(records)) return records.map((record) => identify(type, record))
  return records && identify(type, records)
}
