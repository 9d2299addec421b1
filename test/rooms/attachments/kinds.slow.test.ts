import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import { base, startJsonApi } from '../../kit/json-api/client.ts'
import { listStoredFiles, sendForm, UNTIL_READ, upload } from '../../kit/rooms/attachments.ts'
import { createPerson } from '../../kit/rooms/messages.ts'
import { makeCompoundFile } from '../../kit/sample-files/compound.ts'
import { buildContentTypes } from '../../kit/sample-files/documents.ts'
import { makeZip } from '../../kit/sample-files/zip.ts'
import { shareResource } from '../../kit/share-resource.ts'

let person: Awaited<ReturnType<typeof createPerson>>
const svc = shareResource(() => startJsonApi({ FILE_TEXT_WORKERS: '2' }))
beforeAll(async () => {
  person = await createPerson(svc)
})

const word = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
const rows = '| Fach | Plätze | Frist |\n| Physik | 40 | 15. Juli |\n| Chemie | 25 | 1. Juni |'

const cases: Record<string, { mime: string; text?: string }> = {
  'docx-types-last.docx': { mime: word, text: `Vor der Tabelle\n\n${rows}\n\nDanach` },
  'ifd-at-end.tif': { mime: 'image/tiff' },
  'footnote.docx': {
    mime: word,
    text: 'Es waren 412 Studierende[^1].\n\n[^1]: Zahl laut Jahresbericht, Seite 12.',
  },
  'table.docx': { mime: word, text: `Vor der Tabelle\n\n${rows}\n\nDanach` },
  'numbered.docx': { mime: word, text: '§ 1 Geltung\n§ 2 Fristen\nSiehe § 2.' },
  'deleted.docx': { mime: word, text: 'Frist: 1. Juni' },
  'own-cp1251.csv': { mime: 'text/csv', text: 'Name,City\nДоу,Москва' },
  'own-cp1252.csv': { mime: 'text/csv', text: 'Name;Ort;Größe\nMüller;Köln;1,5\nStraße;Österreich;€ 5' },
}

test('every file in the folder of cases has its right result in the table', async () => {
  expect((await readdir(join(import.meta.dirname, 'cases'))).sort()).toEqual(Object.keys(cases).sort())
})

test.for(Object.entries(cases))('%s is taken, and its text is whole', async ([file, { mime, text }]) => {
  const bytes = await readFile(join(import.meta.dirname, 'cases', file))

  const { one } = await upload(svc, person.token, bytes, { name: file })

  expect(one.attributes['mime']).toBe(mime)
  if (text === undefined) return
  const facts = async () => (await person.get(`/attachments/${one.id}`)).one.attributes
  await vi.waitUntil(async () => (await facts())['textState'] !== 'pending', UNTIL_READ)
  expect(await facts()).toMatchObject({ textState: 'ready', textNotes: [] })
  const answer = await svc.send('GET', `${base}/attachments/${one.id}/actions/text`, { token: person.token })
  expect(await answer.text()).toBe(text)
})

/** Sends a file in pieces, each of which the network carries by itself. */
async function inPieces(bytes: Buffer, size: number) {
  const form = new FormData()
  form.append('file', new Blob([new Uint8Array(bytes)]), 'file')
  const { headers, body } = new Response(form)
  const whole = Buffer.from(await new Response(body).arrayBuffer())
  const pieces = new ReadableStream({
    async start(controller) {
      for (let at = 0; at < whole.length; at += size) {
        controller.enqueue(new Uint8Array(whole.subarray(at, at + size)))
        await new Promise((done) => setImmediate(done))
      }
      controller.close()
    },
  })
  return sendForm(svc, person.token, pieces, { 'content-type': headers.get('content-type') ?? '' })
}

const withVideo = { name: 'word/media/a.mp4', content: Buffer.alloc(200_000, 'video') }
const wordTypes = buildContentTypes({ 'word/document.xml': 'wordprocessingml.document.main' })
const contentTypes = { name: '[Content_Types].xml', content: wordTypes }

/** An image of one point, whose directory lies behind a long comment. */
function bigTiff(): Buffer {
  const tiff = Buffer.alloc(300_000)
  tiff.write('MM\0*', 'latin1')
  tiff.writeUInt32BE(299_000, 4)
  tiff.writeUInt16BE(1, 299_000)
  tiff.writeUInt16BE(256, 299_002)
  return tiff
}

test.for<[string, Buffer, string]>([
  ['an archive that lists its types at its end', makeZip([withVideo, contentTypes]), word],
  ['an archive that lists its types first', makeZip([contentTypes, withVideo]), word],
  [
    'an OpenDocument text whose type comes last',
    makeZip([withVideo, { name: 'mimetype', content: 'application/vnd.oasis.opendocument.text' }]),
    'application/vnd.oasis.opendocument.text',
  ],
  ['an image with its directory at its end', bigTiff(), 'image/tiff'],
])('%s has the same kind however the network cuts it', async ([, bytes, mime]) => {
  for (const size of [bytes.length + 1000, 65_536, 1000]) {
    const { status, one } = await inPieces(bytes, size)
    expect([status, one?.attributes['mime']]).toEqual([201, mime])
  }
})

const macros = wordTypes.replace(/vnd\.openxml[\w.-]+\.main/, 'vnd.ms-word.document.macroEnabled.main')

test.for<[string, Buffer, string]>([
  [
    'a photo in HEIC',
    Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1'),
    'a photo in the format HEIC (.heic)',
  ],
  ['an old Word file', makeCompoundFile('WordDocument'), 'a Word file of 1997-2003 (.doc)'],
  ['an old Excel file', makeCompoundFile('Workbook'), 'an Excel file of 1997-2003 (.xls)'],
  ['an old PowerPoint file', makeCompoundFile('PowerPoint Document'), 'a PowerPoint file of 1997-2003 (.ppt)'],
  ['a message of Outlook', makeCompoundFile('__properties_version1.0'), 'a message of Outlook (.msg)'],
  ['an Office file with a password', makeCompoundFile('EncryptedPackage'), 'an Office file with a password'],
  [
    'a Word file with macros',
    makeZip([withVideo, { name: '[Content_Types].xml', content: macros }]),
    'a Word file with macros',
  ],
  ['an archive of files', makeZip([withVideo]), 'the kind application/zip'],
  ['a compound file of no known program', makeCompoundFile('Contents'), 'the kind application/x-cfb'],
  ['an archive without its end', makeZip([contentTypes, withVideo]).subarray(0, -30), 'the kind application/zip'],
])('%s is refused by its name, and nothing is kept of it', async ([, bytes, name]) => {
  const before = await listStoredFiles(svc)

  const { status, text } = await upload(svc, person.token, bytes)

  expect(status).toBe(415)
  expect(text).toContain(name)
  expect(await listStoredFiles(svc)).toEqual(before)
})
