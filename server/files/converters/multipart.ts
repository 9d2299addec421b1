import { randomUUID } from 'node:crypto'
import { Readable } from 'node:stream'
import mime from 'mime'
import type { FileToRead } from '../../../routers/ports/files/text-extractor.ts'

interface Form {
  /** The field of the file. */
  field: string
  file: FileToRead
  fields: Readonly<Record<string, string>>
}

/** A form with a file that is sent as it is read. What the file is called stays here: the service learns its kind only. */
export function multipart({ field, file, fields }: Form): { headers: Record<string, string>; body: Readable } {
  const boundary = `svc-${randomUUID()}`
  const name = `file.${mime.getExtension(file.mime) ?? 'bin'}`
  const part = (disposition: string, more = '') =>
    `--${boundary}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`
  const texts = Object.entries(fields).map(([key, value]) => `${part(`name="${key}"`)}${value}\r\n`)
  const head = Buffer.from(
    `${texts.join('')}${part(`name="${field}"; filename="${name}"`, `Content-Type: ${file.mime}\r\n`)}`,
  )
  const tail = Buffer.from(`\r\n--${boundary}--\r\n`)
  async function* content() {
    yield head
    yield* file.open()
    yield tail
  }
  return {
    headers: {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + file.bytes + tail.length),
    },
    body: Readable.from(content(), { objectMode: false }),
  }
}
