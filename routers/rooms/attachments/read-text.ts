import { Readable } from 'node:stream'
import { findPendingFile, settleText, type TextOutcome, textById } from '../../../entities/rooms/attachment-text.sql.ts'
import { changing } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { FileContent } from '../../core/file-content.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import { textKey } from '../../ports/ai/prompt-files.ts'
import type { StoredFile } from '../../ports/files/file-store.ts'
import type { ExtractedText } from '../../ports/files/text-extractor.ts'
import { withNotes } from '../../ports/files/text-notes.ts'
import { viewerOf } from '../../verbs/viewer.ts'
import { attachments } from './attachments.ts'
import { openText, sealText } from './sealed-text.ts'

/** Reads the text of a file that waits for it; nothing where it is gone or was read before. */
export async function readText(ctx: Context, attachmentId: number): Promise<void> {
  const { sql, files, textExtractor } = ctx.services
  const [found] = await sql(findPendingFile, [attachmentId])
  if (!found) return
  const { uuid, mime, bytes, sealedKey } = found
  const file = { name: uuid, bytes, sealedKey }
  const extracted = await textExtractor.extract({ mime, bytes, open: () => files.read(file) }, ctx.signal())
  await settle(ctx, attachmentId, await toOutcome(ctx, file, extracted))
}

/** Says of a file that it could not be read as often as that was tried. */
export const giveUpText = (ctx: Context, attachmentId: number): Promise<void> =>
  settle(ctx, attachmentId, { ...nothing, state: 'failed', failure: 'not-read' })

const nothing = { failure: null, truncated: false, notes: [], sealed: null }

async function toOutcome(ctx: Context, file: StoredFile, extracted: ExtractedText): Promise<TextOutcome> {
  if ('unreadable' in extracted) return { ...nothing, state: 'failed', failure: extracted.unreadable }
  const { text, truncated, notes } = extracted
  if (text === '') return { ...nothing, state: 'none', notes }
  const sealed = await sealText(ctx.services.vault, file, withNotes(extracted))
  return { ...nothing, state: 'ready', truncated, notes, sealed }
}

async function settle(ctx: Context, id: number, { state, failure, truncated, notes, sealed }: TextOutcome) {
  await changing(ctx, async (em, changes) => {
    const settled = await runStatement(em, settleText, [id, state, failure, truncated, sealed, JSON.stringify(notes)])
    for (const { room } of settled) if (room) changes.add([`room:${room}`], 'updated', attachments.type, id)
  })
  ctx.services.notifier.notify(textKey(id))
}

/** What models read of a file, as a file of plain text; there is none before it is ready. */
export async function downloadText(ctx: Context, id: string): Promise<FileContent> {
  const { sql, vault } = ctx.services
  const values = textById.values({ ...viewerOf(ctx), ids: [attachments.ids.keyOf(id)] })
  const [found] = await sql(textById.statement, values)
  if (!found) throw new Problem('not_found')
  const text = await openText(vault, found, found.sealed)
  const facts = {
    name: `${found.name}.txt`,
    mime: 'text/plain; charset=utf-8',
    bytes: text.length,
    tag: `${found.uuid}-text`,
  }
  return new FileContent(facts, (range) => Readable.from([text.subarray(range?.start, range && range.end + 1)]))
}
