import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readEnv } from '../../server/config/env.ts'
import { createConverter } from '../../server/files/file-converter.ts'
import { createSandboxPool } from '../../server/files/sandbox-pool.ts'
import { createTextExtractor } from '../../server/files/text-extractor.ts'
import { createSilentLog } from '../kit/log.ts'
import { startConverter } from '../kit/sample-files/converter.ts'
import { makePdf } from '../kit/sample-files/pdf.ts'
import { deflateZeros, makeZip } from '../kit/sample-files/zip.ts'

const MB = 1024 * 1024
const sandboxes = createSandboxPool({ workers: 1, memory: 512 * MB, timeout: 30_000, maxCharacters: 10_000 })

/** Extracts a file's text by the converter of the settings, or else by our own parsers. */
async function extract(
  settings: Record<string, string>,
  mime = 'application/pdf',
  bytes = makePdf({ lines: ['our own'] }),
) {
  const converter = createConverter(readEnv(settings))
  const extractor = createTextExtractor({ sandboxes, converter, log: createSilentLog() })
  try {
    return await extractor.extract({ mime, bytes: bytes.length, open: () => Readable.from([bytes]) })
  } finally {
    await converter?.close()
  }
}

const ownKey = { SVC_FILE_CONVERTER_API_KEY: 'key-1' }
const fromService = { text: 'from the service', marks: [], truncated: false, notes: [] }
const fromParser = { text: 'our own', marks: expect.any(Array), truncated: false, notes: [] }
const markdown = makeZip([
  { name: 'output/file.md', content: 'from the service' },
  { name: 'output/picture.png', content: 'a picture' },
])

test('the default converter gets a file with its key, and returns a Markdown archive', async () => {
  await using service = await startConverter({ answer: markdown, formats: { supported_formats: ['.pdf', 'docx'] } })
  const settings = { SVC_FILE_CONVERTER_API_URL: `${service.url}/extract`, ...ownKey }
  expect(await extract(settings)).toEqual(fromService)

  const [received] = service.received
  expect(received).toMatchObject({ path: '/extract', authorization: 'Bearer key-1' })
  const sent = received?.form.get('file') as File
  expect(sent).toMatchObject({ name: 'file.pdf', type: 'application/pdf' })
  expect(Buffer.from(await sent.arrayBuffer())).toEqual(makePdf({ lines: ['our own'] }))
})

test('the docling converter gets a document and answers with Markdown in JSON', async () => {
  await using service = await startConverter({
    answer: JSON.stringify({ markdown: 'from the service', filename: 'file.md', images: [] }),
  })
  const settings = { FILE_CONVERTER: 'gwdg_docling', GWDG_FILE_CONVERTER_API_URL: service.url, GWDG_API_KEY: 'key-2' }
  expect(await extract(settings)).toEqual(fromService)
  expect(service.received[0]?.authorization).toBe('Bearer key-2')
  expect(service.received[0]?.form.has('document')).toBe(true)
})

test('kreuzberg gets a file with how to read it and answers with a list', async () => {
  await using service = await startConverter({
    answer: JSON.stringify([{ content: 'from the service', mime_type: 'text/plain', images: [] }]),
    formats: [{ extension: 'pdf', mime_type: 'application/pdf' }],
  })
  expect(await extract({ FILE_CONVERTER: 'kreuzberg', KREUZBERG_FILE_CONVERTER_API_URL: service.url })).toEqual(
    fromService,
  )
  const [received] = service.received
  expect(received?.path).toBe('/extract')
  expect(received?.form.has('files')).toBe(true)
  expect(JSON.parse(String(received?.form.get('config')))).toMatchObject({
    ocr: { language: 'deu+eng' },
    pages: { insert_page_markers: true },
  })
})

test('a picture is read by a converter that takes pictures', async () => {
  await using service = await startConverter({ answer: markdown, formats: { supported_formats: ['png'] } })
  const settings = { SVC_FILE_CONVERTER_API_URL: service.url, ...ownKey }
  expect(await extract(settings, 'image/png')).toEqual(fromService)
  expect(await extract(settings, 'image/gif')).toEqual({ text: '', marks: [], truncated: false, notes: [] })
})

test('text and what a converter does not take are not sent to it', async () => {
  await using service = await startConverter({ answer: markdown, formats: { supported_formats: ['docx', 'txt'] } })
  const settings = { SVC_FILE_CONVERTER_API_URL: service.url, ...ownKey }
  expect(await extract(settings)).toEqual(fromParser)
  expect(await extract(settings, 'text/plain', Buffer.from('our own'))).toEqual(fromParser)
  expect(service.received).toEqual([])
})

const bomb = makeZip([{ name: 'a.md', content: '', deflated: deflateZeros(2048), claimedSize: 2 ** 31 }])

test.each([
  ['an error', { answer: 'busy', status: 503 }],
  ['something else than an archive', { answer: 'no archive' }],
  ['an archive that inflates to 2 GiB', { answer: bomb }],
])('where a converter answers with %s, our parsers read the file', async (_, answering) => {
  await using service = await startConverter({ ...answering, formats: { supported_formats: ['pdf'] } })
  expect(await extract({ SVC_FILE_CONVERTER_API_URL: service.url, ...ownKey })).toEqual(fromParser)
  expect(service.received).toHaveLength(1)
})

test('where a converter fails with a file without our own parser, retries may succeed', async () => {
  await using service = await startConverter({ answer: 'busy', status: 503, formats: { supported_formats: ['png'] } })
  const settings = { SVC_FILE_CONVERTER_API_URL: service.url, ...ownKey }
  await expect(extract(settings, 'image/png')).rejects.toThrow('answered 503')
})

/** Starts a converter whose list of formats never ends. */
async function startEndlessList() {
  const server = createServer((_, response) => {
    const timer = setInterval(() => response.write(' '), 50)
    response.on('close', () => clearInterval(timer))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    settings: { SVC_FILE_CONVERTER_API_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ...ownKey },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

test('where the formats of a converter never end, our parsers read the file', async () => {
  await using service = await startEndlessList()

  expect(await extract({ ...service.settings, SVC_FILE_CONVERTER_TIMEOUT: '1s' })).toEqual(fromParser)
})

test.each([
  [{ FILE_CONVERTER: 'svc_converter' }, 'SVC_FILE_CONVERTER_API_URL'],
  [{ SVC_FILE_CONVERTER_API_URL: 'http://127.0.0.1' }, 'SVC_FILE_CONVERTER_API_KEY'],
  [{ FILE_CONVERTER: 'gwdg_docling' }, 'GWDG_API_KEY'],
  [{ FILE_CONVERTER: 'kreuzberg' }, 'KREUZBERG_FILE_CONVERTER_API_URL'],
])('a converter that lacks a setting is refused at the start: %o', (given, name) => {
  expect(() => readEnv(given)).toThrow(`${name}: is required by the file converter`)
})
