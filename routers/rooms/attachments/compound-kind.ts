import type { RandomAccessFile } from './random-access-file.ts'

/** The container of Office files before 2007, and of later ones with a password. */
const COMPOUND = 'application/x-cfb'
export const ENCRYPTED_OFFICE = 'application/x-encrypted-office'

/** Kinds by the name of the stream that only they have. */
const kinds: readonly [stream: string, mime: string][] = [
  ['EncryptedPackage', ENCRYPTED_OFFICE],
  ['WordDocument', 'application/msword'],
  ['Workbook', 'application/vnd.ms-excel'],
  ['Book', 'application/vnd.ms-excel'],
  ['PowerPoint Document', 'application/vnd.ms-powerpoint'],
  ['__properties_version1.0', 'application/vnd.ms-outlook'],
]

const HEADER = 512
const MAX_DIRECTORY_SECTORS = 64
const ENTRY = 128

/** The media type of a compound file by the streams that its directory lists, wherever that lies. */
export async function detectCompoundKind(file: RandomAccessFile): Promise<string> {
  const names = await streamNames(file).catch((error: unknown) => {
    if (file.failure) throw error
    return new Set<string>()
  })
  return kinds.find(([stream]) => names.has(stream))?.[1] ?? COMPOUND
}

async function streamNames(file: RandomAccessFile): Promise<Set<string>> {
  const header = await file.read(0, HEADER)
  const sectorBytes = 2 ** header.readUInt16LE(30)
  if (sectorBytes !== 512 && sectorBytes !== 4096) return new Set()
  const readSector = (sector: number) => file.read((sector + 1) * sectorBytes, sectorBytes)
  const names = new Set<string>()
  let sector = header.readUInt32LE(48)
  for (let count = 0; count < MAX_DIRECTORY_SECTORS && isSector(sector); count++) {
    const entries = await readSector(sector)
    for (let at = 0; at + ENTRY <= entries.length; at += ENTRY) names.add(nameAt(entries, at))
    sector = await nextSector(header, sector, readSector)
  }
  return names
}

const isSector = (sector: number) => sector < 0xffff_fffa

/** A name is UTF-16 with a zero at its end; its length in bytes stands behind it. */
const nameAt = (entries: Buffer, at: number) =>
  entries.toString('utf16le', at, at + Math.max(0, Math.min(64, entries.readUInt16LE(at + 64)) - 2))

/** The header names the first 109 sectors of the table that links all others; a directory beyond these is not followed. */
async function nextSector(header: Buffer, sector: number, readSector: (sector: number) => Promise<Buffer>) {
  const [END, TABLES, TABLES_AT] = [0xffff_fffe, 109, 76]
  const perTable = 2 ** header.readUInt16LE(30) / 4
  const table = Math.floor(sector / perTable)
  if (table >= TABLES) return END
  const links = await readSector(header.readUInt32LE(TABLES_AT + 4 * table))
  return links.readUInt32LE(4 * (sector % perTable))
}
