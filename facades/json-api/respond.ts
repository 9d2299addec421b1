import type { Resource } from '../../routers/resource/declare.ts'
import type { RecordRef } from '../../routers/resource/record.ts'
import type { Page } from '../../routers/verbs/read.ts'
import { basePath } from '../http/names.ts'
import { type Document, type DocumentContext, encode, identify, type SparseFields, selfOf } from './document.ts'
import { pageOf } from './page.ts'
import type { ParsedQuery } from './query.ts'
import type { Route } from './routes.ts'
import { jsonapi } from './wire.ts'

export interface Answered {
  site: DocumentContext
  route: Route
  query: ParsedQuery
  url: string
  output: unknown
}

/** What an action returns in addition to a record, or instead of one. */
interface ActionOutput {
  data?: RecordRef | RecordRef[] | null
  meta?: Record<string, unknown>
}

/** The document for what a procedure returned, by what its route answers with. */
export function documentOf({ site, route, query, url, output }: Answered): Document {
  const { answers, resource, relation } = route
  const wanted: SparseFields = { include: query.input.include, fields: query.fields }
  if (answers === 'nothing') return { jsonapi }
  if (answers === 'action') return actionDocument(site, resource, output as ActionOutput, wanted)
  const target = relation ? (site.resources.get(relation.of.to) as Resource) : resource
  const records = isPage(output) ? output.items : (output as RecordRef | RecordRef[] | null)
  const self = answers === 'created' ? selfOf(site, resource.type, (output as RecordRef).id) : `${hostOf(site)}${url}`
  const around = isPage(output) && target.page ? pageOf(output, self) : { links: { self } }
  if (answers === 'linkage') return { jsonapi, ...around, data: linkage(target.type, records) }
  return { ...encode(site, target, records, wanted), ...around }
}

const hostOf = ({ baseUrl }: DocumentContext) => baseUrl.slice(0, -basePath.length)

function actionDocument(
  site: DocumentContext,
  resource: Resource,
  { data, meta }: ActionOutput,
  wanted: SparseFields,
): Document {
  const document = data === undefined ? { jsonapi } : encode(site, resource, data, wanted)
  if (!meta) return document
  const written = Object.entries(meta).map(([name, value]) => [site.members.write(name), value])
  return { ...document, meta: Object.fromEntries(written) }
}

const isPage = (output: unknown): output is Page<RecordRef> =>
  typeof output === 'object' && output !== null && 'items' in output

function linkage(type: string, records: RecordRef | RecordRef[] | null) {
  if (Array.isArray(records)) return records.map((record) => identify(type, record))
  return records && identify(type, records)
}
