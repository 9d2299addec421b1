import { parseOffice } from 'officeparser'
import type { Collector } from './collector.ts'
import { addDocument } from './document-text.ts'
import { spellOut } from './docx.ts'
import { decode } from './plain.ts'
import type { TextKind } from './text-kind.ts'
import { Unreadable } from './unreadable.ts'
import { spellOutDates } from './xlsx.ts'
import { embedding, guardZip } from './zip-guard.ts'

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

/** Refuses what no parser of documents is given: the container of documents with a password is no archive. */
export async function guardContainer(bytes: Buffer, text: Collector): Promise<void> {
  if (bytes.toString('latin1', 0, 4) === '\xd0\xcf\x11\xe0') throw new Unreadable('encrypted')
  const names = await guardZip(bytes)
  // A drawing is kept beside the picture of it that programs show which know no drawings.
  text.note('pictures', count(names, /(?:^|\/)(?:media|Pictures)\/[^/]+\.(?!svg|wav|mp3|m4a|mp4|mov)\w+$/i))
  // The numbers of a chart are read from the chart, not from its workbook.
  text.note('embedded-files', count(names, embedding, /[^/]$/) - count(names, /\/charts?\/?chart\d*\.xml$/))
}

const count = (names: ReadonlySet<string>, ...patterns: RegExp[]): number =>
  [...names].filter((name) => patterns.every((pattern) => pattern.test(name))).length

/** Throws the reason why a parser failed. */
export function refuseDocument(error: Error & { code?: unknown }): never {
  throw new Unreadable(/PASSWORD/.test(`${error.code}`) ? 'encrypted' : 'damaged', error)
}
