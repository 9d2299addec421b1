import { findCitedFile, findPassageWithNeighbours } from '../../../entities/assistants/assistant-knowledge.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { openAddress, type ReadPassage } from './cited-passages.ts'
import { openPassage } from './sealed-parts.ts'

/** What an answer has cited, as its reader sees it. */
export interface OpenedCitation {
  path: string
  /** `changed` if a newer version of the file has taken its place; then its text is gone, as that of a deleted one. */
  state: 'current' | 'changed' | 'deleted'
  /** Present while the file is as it was cited. */
  passage?: {
    /** The page or slide; null if the file has none. */
    page: number | null
    headings: readonly string[]
    text: string
    /** The text before the passage and behind it; empty where the file begins or ends. */
    before: string
    after: string
  }
}

/** Opens the place that an address names. Whoever may not use the assistant now is told that there is none. */
export async function openCitation(ctx: Context, person: number, address: string): Promise<OpenedCitation> {
  const { sql, vault, settings } = ctx.services
  const place = openAddress(vault, address)
  const values = place && [person, place.handle, place.knowledge, place.file, place.path, settings.reviewsAssistants]
  const [found] = values ? await sql(findCitedFile, values) : []
  if (!place || !found) throw new Problem('not_found', { detail: 'There is no such source.' })
  const { path, knowledge, file, from } = place
  if (!found.isThere) return { path, state: found.isReplaced ? 'changed' : 'deleted' }
  const rows = await sql(findPassageWithNeighbours, [knowledge, file, from])
  const passages = rows.map((row) => openPassage(vault, row))
  const at = passages.findLastIndex((passage) => passage.from <= from)
  const passage = passages[at]
  if (!passage) return { path, state: 'deleted' }
  const { page, headings, text } = passage
  const before = cutEnd(passages[at - 1], passage.from)
  const after = cutBeginning(passages[at + 1], passage.to)
  return { path, state: 'current', passage: { page, headings, text, before, after } }
}

/** Neighbours may share a sentence, which belongs to the passage. */
function cutEnd(passage: ReadPassage | undefined, end: number): string {
  if (!passage) return ''
  return passage.text.slice(0, passage.text.length - Math.max(0, passage.to - end))
}

function cutBeginning(passage: ReadPassage | undefined, start: number): string {
  if (!passage) return ''
  return passage.from < start ? passage.text.slice(start - passage.from) : passage.text
}
