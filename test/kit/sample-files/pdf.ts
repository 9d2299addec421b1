interface PdfOptions {
  /** The line of each page. */
  lines: readonly string[]
  /** How often the tree names each page. */
  repeated?: number
  /** What each page draws before its line. */
  drawing?: string
  /** Whether it says that it needs a password, which nobody has. */
  isEncrypted?: boolean
  /** The titles of its bookmarks, as they are written in it. */
  bookmarks?: readonly string[]
}

/** A document in plain PDF, with a line of text on each page. */
export function pdf({ lines, repeated = 1, drawing = '', isEncrypted, bookmarks }: PdfOptions): Buffer {
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
  if (bookmarks) objects.push(...outline(bookmarks, objects.length + 1))
  return assemble(objects, isEncrypted ? lockedTrailer : '')
}

/** All bookmarks below one, which is open. */
function outline([first = '', ...others]: readonly string[], id: number): string[] {
  const ends = `/First ${id + 2} 0 R /Last ${id + 1 + others.length} 0 R`
  const parent = `/Parent ${id + 1} 0 R`
  return [
    `<< /Type /Outlines /First ${id + 1} 0 R /Last ${id + 1} 0 R /Count ${others.length + 1} >>`,
    `<< /Title (${first}) /Parent ${id} 0 R ${ends} /Count ${others.length} >>`,
    ...others.map((title) => `<< /Title (${title}) /A << /S /Named /N /FirstPage >> ${parent} >>`),
  ]
}

const hex = (byte: string) => `<${byte.repeat(32)}>`
const lockedTrailer = ` /ID [${hex('01')} ${hex('01')}] /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -44 /O ${hex('ab')} /U ${hex('cd')} >>`

function assemble(objects: readonly string[], trailer: string): Buffer {
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
