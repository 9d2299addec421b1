import { parseOffice } from 'officeparser'
import type { Collector } from './collector.ts'
import { guardContainer, refuseDocument } from './container.ts'
import { addDocument } from './document-text.ts'
import { spellOut } from './docx.ts'
import { decode } from './plain.ts'
import type { TextKind } from './text-kind.ts'
import { Unreadable } from './unreadable.ts'
import { spellOutDates } from './xlsx.ts'

type OfficeKind = Exclude<TextKind, 'pdf' | 'plain'>

/** Word documents, workbooks, presentations, OpenDocument, RTF and HTML; nothing that they refer to is fetched. */
export async function readOffice(bytes: Buffer, fileType: OfficeKind, text: Collector): Promise<void> {
  const document = await prepare(bytes, fileType, text)
  addDocument(await parseOffice(document, { fileType, ignorePageGeometry: true }).catch(refuseDocument), text)
}

async function prepare(bytes: Buffer, fileType: OfficeKind, text: Collector): Promise<Buffer> {
  if (fileType === 'html') return Buffer.from(await decode(bytes))
  if (fileType === 'rtf') assertStart(bytes, '{\\rtf')
  else await guardContainer(bytes, text)
  if (fileType === 'xlsx') return spellOutDates(bytes)
  return fileType === 'docx' ? spellOut(bytes, text) : bytes
}

function assertStart(bytes: Buffer, start: string): void {
  if (!bytes.toString('latin1', 0, start.length).startsWith(start)) throw new Unreadable('damaged')
}
