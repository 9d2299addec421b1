import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { TextKind } from '../../server/files/sandbox/content-kinds.ts'
import { extractText } from '../../server/files/sandbox/extract.ts'
import { createSandboxPool } from '../../server/files/sandbox-pool.ts'
import { makeDocx, makeXlsx } from '../kit/sample-files/documents.ts'
import { makePdf } from '../kit/sample-files/pdf.ts'
import { deflateZeros, makeZip } from '../kit/sample-files/zip.ts'

const MB = 1024 * 1024
const bounds = { workers: 2, memory: 512 * MB, timeout: 30_000, maxCharacters: 10_000 }
const sandboxes = createSandboxPool(bounds)
const read = (bytes: Buffer, kind: TextKind, by = sandboxes) => by.read(Readable.from([bytes]), kind)

/** Extracts within this process, for files that cannot endanger it. */
const extractHere = (bytes: Buffer, kind: TextKind) => extractText(bytes, kind, bounds.maxCharacters)

const bomb = (claimedSize: number) =>
  makeDocx(['x'], [{ name: 'word/media/a', content: '', deflated: deflateZeros(2048), claimedSize }])
const nestedArchive = (name: string) => makeDocx(['x'], [{ name, content: makeZip([{ name: 'a', content: 'b' }]) }])
const manyEntries = Array.from({ length: 10_001 }, (_, index) => ({ name: `word/${index}`, content: '' }))
const passwordProtected = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(1000)])
const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)

test.each<[string, TextKind, Buffer, string]>([
  ['2 GiB of zeros in 2 MB', 'docx', bomb(2 ** 31), 'too-large'],
  ['2 GiB that the directory calls 1,000 bytes', 'docx', bomb(1000), 'damaged'],
  ['100,000 pages', 'pdf', makePdf({ lines: ['x'], repeated: 100_000 }), 'too-large'],
  ['10,001 entries', 'docx', makeDocx(['x'], manyEntries), 'too-large'],
  ['an archive in an archive', 'docx', nestedArchive('word/more.zip'), 'damaged'],
  ['an entry outside the archive', 'docx', makeDocx(['x'], [{ name: '../../etc/passwd', content: 'x' }]), 'damaged'],
  ['two entries of one name', 'docx', makeDocx(['x'], [{ name: 'word/document.xml', content: 'y' }]), 'damaged'],
  ['an encrypted entry', 'docx', makeDocx(['x'], [{ name: 'word/a', content: 'x', isEncrypted: true }]), 'encrypted'],
  ['a Word document with a password', 'docx', passwordProtected, 'encrypted'],
  ['a PDF with a password', 'pdf', makePdf({ lines: ['x'], isEncrypted: true }), 'encrypted'],
  ['a truncated PDF', 'pdf', makePdf({ lines: ['x'] }).subarray(0, 60), 'damaged'],
  ['a truncated workbook', 'xlsx', makeXlsx([['x']]).subarray(0, 900), 'damaged'],
  ['an empty PDF', 'pdf', Buffer.alloc(0), 'damaged'],
  ['an empty Word document', 'docx', Buffer.alloc(0), 'damaged'],
  [
    'a picture that is called a document',
    'pptx',
    Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60', 'latin1'),
    'damaged',
  ],
  ['a program that is called text', 'plain', Buffer.from('\x7fELF\x02\x01\x01\0\0\0', 'latin1'), 'damaged'],
])('%s gives a reason instead of a text', async (_, kind, bytes, unreadable) => {
  expect(await extractHere(bytes, kind)).toEqual({ unreadable })
})

test.each<[string, TextKind, string]>([
  ['two million groups in RTF', 'rtf', `{\\rtf1 ${deep(2_000_000, '{', '}')}}`],
  ['half a million elements in each other', 'html', deep(500_000, '<div>', '</div>')],
])('%s is too deep, and gives a reason instead of a text', async (_, kind, content) => {
  expect(await read(Buffer.from(content), kind)).toEqual({ unreadable: 'damaged' })
})

test('embedded pictures and documents are skipped, and reported as skipped', async () => {
  const content = makeZip([{ name: 'a', content: 'b' }])
  const pictures = ['media/1.png', 'media/1.svg', 'media/2.emf'].map((name) => ({ name: `word/${name}`, content: '' }))
  const found = await extractHere(
    makeDocx(['x'], [{ name: 'word/embeddings/sheet.xlsx', content }, ...pictures]),
    'docx',
  )
  const notes = [
    { gap: 'pictures', count: 2 },
    { gap: 'embedded-files', count: 1 },
  ]
  expect(found).toMatchObject({ text: 'x', truncated: false, notes })
})

test('pages of a PDF that have no text are counted', async () => {
  const found = await extractHere(makePdf({ lines: ['First page', '', ''] }), 'pdf')
  expect(found).toMatchObject({ text: 'First page', truncated: false, notes: [{ gap: 'pages', count: 2 }] })
})

test('an empty text has nothing in it, and lacks nothing', async () => {
  expect(await extractHere(Buffer.alloc(0), 'plain')).toEqual({ text: '', marks: [], truncated: false, notes: [] })
})

test('text beyond what is kept is left out, and said to be', async () => {
  const pages = makePdf({ lines: Array.from({ length: 1000 }, (_, index) => `Page ${index} of a long report`) })
  const found = await extractHere(pages, 'pdf')
  expect(found).toMatchObject({ truncated: true, text: expect.stringMatching(/^Page 0 of a long report\n/) })
  expect('text' in found && found.text.length).toBeLessThanOrEqual(bounds.maxCharacters)
})

test('a file that takes too much memory ends its own process only', async () => {
  const held = process.memoryUsage.rss()
  const small = createSandboxPool({ ...bounds, memory: 160 * MB })
  expect(await read(Buffer.alloc(200 * MB, 'a'), 'plain', small)).toEqual({ unreadable: 'too-much-memory' })
  expect(process.memoryUsage.rss() - held).toBeLessThan(300 * MB)
})

test('a file that cannot be read to its end throws an error', async () => {
  const broken = Readable.from(
    (async function* () {
      yield Buffer.from('%PDF-1.7')
      throw new Error('the disk is gone')
    })(),
  )
  await expect(sandboxes.read(broken, 'pdf')).rejects.toThrow('the disk is gone')
})

test('an extraction that is not wanted any more ends at once', async () => {
  const controller = new AbortController()
  const never = new Readable({ read() {} })
  const extraction = sandboxes.read(never, 'plain', controller.signal)
  controller.abort()
  await expect(extraction).rejects.toThrow('abort')
})

/** Starts a server that records calls, of which there should be none. */
async function listener() {
  const requests: string[] = []
  const server = createServer(({ url = '' }, answer) => {
    requests.push(url)
    answer.end('<!ENTITY fetched "from outside">')
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, requests, [Symbol.asyncDispose]: async () => void server.close() }
}

test('nothing that a document refers to is fetched', async () => {
  await using outside = await listener()
  const prolog = `<!DOCTYPE x [<!ENTITY % more SYSTEM "${outside.url}/dtd"> %more; <!ENTITY e SYSTEM "file:///etc/passwd">]>`
  const page = `<link rel=stylesheet href="${outside.url}/a.css"><img src="${outside.url}/a.png"><iframe src="${outside.url}/a"></iframe>read`
  const word = await read(makeDocx(['&e;'], [], prolog), 'docx')
  expect(JSON.stringify(word)).not.toContain('root:')
  expect(await read(Buffer.from(page), 'html')).toMatchObject({ text: expect.stringContaining('read') })
  expect(outside.requests).toEqual([])
})

const sandbox = join(dirname(fileURLToPath(import.meta.url)), '../../server/files/sandbox')

test('a parser could reach neither the network nor a file nor a program', async () => {
  await using outside = await listener()
  const probe = `
    import { blockNetwork } from ${JSON.stringify(join(sandbox, 'no-network.ts'))}
    const { default: http } = await import('node:http')
    const { default: net } = await import('node:net')
    const { default: dns } = await import('node:dns')
    const { default: dgram } = await import('node:dgram')
    const { execFileSync } = await import('node:child_process')
    const { readFileSync, writeFileSync } = await import('node:fs')
    blockNetwork()
    const url = ${JSON.stringify(outside.url)}
    const tries = {
      fetch: () => fetch(url),
      http: () => new Promise((done, failed) => http.get(url, done).on('error', failed)),
      net: () => net.connect(new URL(url).port, '127.0.0.1'),
      dns: () => dns.promises.lookup('localhost'),
      udp: () => dgram.createSocket('udp4'),
      listen: () => net.createServer().listen(0),
      read: () => readFileSync('/etc/passwd'),
      write: () => writeFileSync('/tmp/svc-probe', ''),
      run: () => execFileSync('id'),
    }
    const reached = []
    for (const [name, attempt] of Object.entries(tries)) {
      try { await attempt(); reached.push(name) } catch {}
    }
    console.log(JSON.stringify(reached))`
  const flags = ['--permission', `--allow-fs-read=${sandbox}`, '--input-type=module', '--eval', probe]
  const { stdout } = await promisify(execFile)(process.execPath, flags, { env: {} })
  expect(JSON.parse(stdout)).toEqual([])
  expect(outside.requests).toEqual([])
})
