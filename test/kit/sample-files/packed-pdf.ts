import { deflateSync } from 'node:zlib'

interface PackedOptions {
  pages: number
  /** A text that each page has. */
  note?: string
  /** In the place of the packed objects. */
  stream?: Buffer
}

/** A document of empty pages in PDF 1.5, whose objects are packed, as most programs write them. */
export function packedPdf({ pages, note, stream }: PackedOptions): Buffer {
  const ids = Array.from({ length: pages }, (_, at) => at + 3)
  const objects = [
    '<</Type/Catalog/Pages 2 0 R>>',
    `<</Type/Pages/Count ${pages}/Kids[${ids.map((id) => `${id} 0 R`).join(' ')}]>>`,
    ...ids.map(() => `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]${note ? `/Note(${note})` : ''}>>`),
  ]
  const [packId, tableId] = [objects.length + 1, objects.length + 2]
  let offset = -1
  const places = objects.map((object, at) => {
    const place = `${at + 1} ${offset + 1}`
    offset += object.length + 1
    return place
  })
  const head = `${places.join(' ')} `
  const packed = stream ?? deflateSync(head + objects.join(' '))
  const begin = Buffer.from('%PDF-1.5\n')
  const pack = streamOf(packId, `/Type/ObjStm/N ${objects.length}/First ${head.length}`, packed)
  const rows = [[0, 0, 0], ...objects.map((_, at) => [2, packId, at]), [1, begin.length, 0]]
  rows.push([1, begin.length + pack.length, 0])
  const table = deflateSync(Buffer.concat(rows.map(row)))
  const named = `/Type/XRef/Size ${tableId + 1}/W[1 4 4]/Root 1 0 R`
  const end = `startxref\n${begin.length + pack.length}\n%%EOF\n`
  return Buffer.concat([begin, pack, streamOf(tableId, named, table), Buffer.from(end)])
}

const streamOf = (id: number, entries: string, content: Buffer) =>
  Buffer.concat([
    Buffer.from(`${id} 0 obj\n<<${entries}/Filter/FlateDecode/Length ${content.length}>>\nstream\r\n`),
    content,
    Buffer.from('\nendstream\nendobj\n'),
  ])

function row([kind = 0, place = 0, at = 0]: number[]): Buffer {
  const bytes = Buffer.alloc(9)
  bytes.writeUInt8(kind)
  bytes.writeUInt32BE(place, 1)
  bytes.writeUInt32BE(at, 5)
  return bytes
}
