import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RecordRef } from '../../routers/resource/record.ts'
import type { Document } from './document.ts'
import { documentOf, type RouteResult } from './respond.ts'

const PART = 250

/**
 * The text of the document for what a procedure returned. A long list that comes whole is written in parts: others get
 * their turn in between, and no row is held as a resource object for longer than that.
 */
export async function textOf(result: RouteResult): Promise<string> {
  const records = wholeList(result)
  if (records.length <= PART) return JSON.stringify(written(result))
  const { data: _, ...frame } = written(withRecords(result, []))
  const parts: string[] = []
  for (let at = 0; at < records.length; at += PART) {
    const { data } = documentOf(withRecords(result, records.slice(at, at + PART)))
    parts.push(JSON.stringify(data).slice(1, -1))
    await nextTurn()
  }
  return `{"data":[${parts.join()}],${JSON.stringify(frame).slice(1)}`
}

function written(result: RouteResult): Document {
  const document = documentOf(result)
  const { syncLogMember } = result.documentContext.names
  if (result.route.method !== 'GET') document.meta = { ...document.meta, [syncLogMember]: result.positions }
  return document
}

/** The rows of an answer that neither comes in pages nor includes others, which would have to be brought together. */
function wholeList({ route, query, output }: RouteResult): readonly RecordRef[] {
  if (route.resource.page || route.relation || query.input.include) return []
  const { items, data } = (output ?? {}) as { items?: unknown; data?: unknown }
  const records = items ?? data
  return Array.isArray(records) ? records : []
}

function withRecords(result: RouteResult, records: readonly RecordRef[]): RouteResult {
  const output = result.output as object
  return { ...result, output: { ...output, ['items' in output ? 'items' : 'data']: records } }
}
