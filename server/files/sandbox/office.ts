import { parseOffice } from 'officeparser'
import type { Collector } from './collector.ts'
import { guardContainer, refuseDocument } from './container.ts'
import type { TextKind } from './text-kind.ts'
import { Unreadable } from './unreadable.ts'

type OfficeKind = Exclude<TextKind, 'pdf' | 'docx' | 'plain'>

/** Workbooks, presentations, OpenDocument, RTF and HTML; nothing that they refer to is fetched. */
export async function readOffice(bytes: Buffer, fileType: OfficeKind, text: Collector): Promise<void> {
  if (fileType === 'rtf') assertStart(bytes, '{\\rtf')
  else if (fileType !== 'html') await guardContainer(bytes)
  const document = await parseOffice(bytes, { fileType, ignorePageGeometry: true }).catch(refuseDocument)
  const { value } = await document.to('text')
  text.add(value)
}

function assertStart(bytes: Buffer, start: string): void {
  if (!bytes.toString('latin1', 0, start.length).startsWith(start)) throw new Unreadable('damaged')
}
