import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RecordRef } from '../../routers/resource/record.ts'
import { syncLogMember } from '../http/names.ts'
import type { Document } from './document.ts'
import { type Answered, documentOf } from './respond.ts'

const PART = 250

/**
 * The text of the document for what a procedure returned. A long list that comes whole is written in parts: others get
 * their turn in between, and no row is held as a resource object for longer than that.
 */
export async function textOf(answered: Answered): Promise<string> {
  const records = wholeList(answered)
  if (records.length <= PART) return JSON.stringify(written(answered))
  const { data: _, ...frame } = written(withRecords(answered, []))
  const parts: string[] = []
  for (let at = 0; at < records.length; at += PART) {
    const { data } = documentOf(withRecords(answered, records.slice(at, at + PART)))
    parts.push(JSON.stringify(data).slice(1, -1))
    await nextTurn()
  }
  return `{"data":[${parts.join()}],${JSON.stringify(frame).slice(1)}`
}

function written(answered: Answered): Document {
  const document = documentOf(answered)
  if (answered.route.method !== 'GET') document.meta = { ...document.meta, [syncLogMember]: [] }
  return document
}

/** The rows of an answer that neither comes in pages nor includes others, which would have to be brought together. */
function wholeList({ route, query, output }: Answered): readonly RecordRef[] {
  if (route.resource.page || route.relation || query.input.include) return []
  const { items, data } = (output ?? {}) as { items?: unknown; data?: unknown }
  const records = items ?? data
  return Array.isArray(records) ? records : []
}

function withRecords(answered: Answered, records: readonly RecordRef[]): Answered {
  const output = answered.output as object
  return { ...answered, output: { ...output, ['items' in output ? 'items' : 'data']: records } }
}
