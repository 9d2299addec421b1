import mammoth from 'mammoth'
import { parseOffice } from 'officeparser'
import type { Collector } from './collector.ts'
import type { TextKind } from './text-kind.ts'
import { Unreadable } from './unreadable.ts'
import { guardZip } from './zip-guard.ts'

type OfficeKind = Exclude<TextKind, 'pdf' | 'docx' | 'plain'>

export async function readDocx(bytes: Buffer, text: Collector): Promise<void> {
  await guardContainer(bytes)
  const { value } = await mammoth.extractRawText({ buffer: bytes }).catch(damaged)
  text.add(value)
}

/** Workbooks, presentations, OpenDocument, RTF and HTML; nothing that they refer to is fetched. */
export async function readOffice(bytes: Buffer, fileType: OfficeKind, text: Collector): Promise<void> {
  if (fileType === 'rtf') assertStart(bytes, '{\\rtf')
  else if (fileType !== 'html') await guardContainer(bytes)
  const document = await parseOffice(bytes, { fileType, ignorePageGeometry: true }).catch(damaged)
  const { value } = await document.to('text')
  text.add(value)
}

/** The container of documents with a password is no archive. */
async function guardContainer(bytes: Buffer): Promise<void> {
  if (bytes.toString('latin1', 0, 4) === '\xd0\xcf\x11\xe0') throw new Unreadable('encrypted')
  await guardZip(bytes)
}

function assertStart(bytes: Buffer, start: string): void {
  if (!bytes.toString('latin1', 0, start.length).startsWith(start)) throw new Unreadable('damaged')
}

function damaged(error: Error & { code?: unknown }): never {
  throw new Unreadable(/PASSWORD/.test(`${error.code}`) ? 'encrypted' : 'damaged', error)
}
