import { deflateSync } from 'node:zlib'

interface PdfOptions {
  /** The line of each page. */
  lines: readonly string[]
  /** Number of times that the page tree lists each page. */
  repeated?: number
  /** Drawing operators of each page before its line. */
  drawing?: string
  /** True declares that the file needs a password, which nobody has. */
  isEncrypted?: boolean
  /** The titles of its bookmarks, as they are written in it. */
  bookmarks?: readonly string[]
}

/** A document in plain PDF, with a line of text on each page. */
export function makePdf({ lines, repeated = 1, drawing = '', isEncrypted, bookmarks }: PdfOptions): Buffer {
  const pageIds = lines.map((_, index) => 4 + 2 * index)
  const kids = Array<string>(repeated)
    .fill(pageIds.map((id) => `${id} 0 R`).join(' '))
    .join(' ')
  const objects = [
    `<< /Type /Catalog /Pages 2 0 R${bookmarks ? ` /Outlines ${4 + 2 * lines.length} 0 R` : ''} >>`,
    `<< /Type /Pages /Count ${lines.length * repeated} /Kids [${kids}] >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...lines.flatMap((line, index) => {
      const content = `${drawing}BT /F1 12 Tf 72 720 Td (${line}) Tj ET`
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << /Font << /F1 3 0 R >> >> /Contents ${5 + 2 * index} 0 R >>`,
        `<< /Length ${content.length} >>\nstream\n${content}\nendstream`,
      ]
    }),
  ]
  if (bookmarks) objects.push(...buildOutline(bookmarks, objects.length + 1))
  return assembleFile(objects, isEncrypted ? lockedTrailer : '')
}

/** All bookmarks below one, which is open. */
function buildOutline([first = '', ...others]: readonly string[], id: number): string[] {
  const ends = `/First ${id + 2} 0 R /Last ${id + 1 + others.length} 0 R`
  const parent = `/Parent ${id + 1} 0 R`
  return [
    `<< /Type /Outlines /First ${id + 1} 0 R /Last ${id + 1} 0 R /Count ${others.length + 1} >>`,
    `<< /Title (${first}) /Parent ${id} 0 R ${ends} /Count ${others.length} >>`,
    ...others.map((title) => `<< /Title (${title}) /A << /S /Named /N /FirstPage >> ${parent} >>`),
  ]
}

const repeatHex = (byte: string) => `<${byte.repeat(32)}>`
const lockedTrailer = ` /ID [${repeatHex('01')} ${repeatHex('01')}] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O ${repeatHex('ab')} /U ${repeatHex('cd')} >>`

function assembleFile(objects: readonly string[], trailer: string): Buffer {
  let text = '%PDF-1.7\n'
  const offsets = objects.map((object, index) => {
    const at = text.length
    text += `${index + 1} 0 obj\n${object}\nendobj\n`
    return at
  })
  const table = offsets.map((at) => `${String(at).padStart(10, '0')} 00000 n \n`).join('')
  const end = `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R${trailer} >>\nstartxref\n${text.length}\n%%EOF\n`
  return Buffer.from(`${text}xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${table}${end}`, 'latin1')
}

interface PackedOptions {
  pages: number
  /** A text that each page has. */
  note?: string
  /** In the place of the packed objects. */
  stream?: Buffer
}

/** A document of empty pages in PDF 1.5, whose objects are packed, as most programs write them. */
export function makePackedPdf({ pages, note, stream }: PackedOptions): Buffer {
  const ids = Array.from({ length: pages }, (_, at) => at + 3)
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Count ${pages}/Kids[${ids.map((id) => `${id} 0 R`).join(' ')}]>>`,
    ...ids.map(() => `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]${note ? `/Note(${note})` : ''}>>`),
  ]
  const [packId, tableId] = [objects.length + 1, objects.length + 2]
  let offset = -1
  const objectOffsets = objects.map((object, at) => {
    const place = `${at + 1} ${offset + 1}`
    offset += object.length + 1
    return place
  })
  const head = `${objectOffsets.join(' ')} `
  const packedObjects = stream ?? deflateSync(head + objects.join(' '))
  const header = Buffer.from('%PDF-1.5\n')
  const pack = buildStream(packId, `/Type/ObjStm/N ${objects.length}/First ${head.length}`, packedObjects)
  const rows = [[0, 0, 0], ...objects.map((_, at) => [2, packId, at]), [1, header.length, 0]]
  rows.push([1, header.length + pack.length, 0])
  const table = deflateSync(Buffer.concat(rows.map(buildRow)))
  const named = `/Type/XRef/Size ${tableId + 1}/W[1 4 4]/Root 1 0 R`
  const end = `startxref\n${header.length + pack.length}\n%%EOF\n`
  return Buffer.concat([header, pack, buildStream(tableId, named, table), Buffer.from(end)])
}

const buildStream = (id: number, entries: string, content: Buffer) =>
  Buffer.concat([
    Buffer.from(`${id} 0 obj\n<<${entries}/Filter/FlateDecode/Length ${content.length}>>\nstream\r\n`),
    content,
    Buffer.from('\nendstream\nendobj\n'),
  ])

function buildRow([kind = 0, place = 0, at = 0]: number[]): Buffer {
  const bytes = Buffer.alloc(9)
  bytes.writeUInt8(kind)
  bytes.writeUInt32BE(place, 1)
  bytes.writeUInt32BE(at, 5)
  return bytes
}
