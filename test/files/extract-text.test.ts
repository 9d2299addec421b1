import { execFile } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { TextKind } from '../../server/files/sandbox/text-kind.ts'
import { createSandboxPool } from '../../server/files/sandbox-pool.ts'
import { docx, odt, pptx, xlsx } from '../kit/sample-files/documents.ts'
import { pdf } from '../kit/sample-files/pdf.ts'
import { deflatedZeros, zip } from '../kit/sample-files/zip.ts'

const MB = 1024 * 1024
const bounds = { workers: 2, memory: 512 * MB, timeout: 30_000, maxCharacters: 10_000 }
const sandboxes = createSandboxPool(bounds)
const extract = (bytes: Buffer, kind: TextKind, by = sandboxes) => by.read(Readable.from([bytes]), kind)
const text = (text: string) => ({ text, truncated: false })

const rtf = String.raw`{\rtf1\ansi Guten {\b Tag}\par W\'f6rter}`
const html =
  '<html><head><title>T</title><script>steal()</script><style>a{}</style></head><body><p>Guten <b>Tag</b></p></body></html>'

describe.concurrent('the text of a file is read from', () => {
  test.each<[string, TextKind, Buffer, string]>([
    ['a PDF, page by page', 'pdf', pdf({ lines: ['First page', 'Second page'] }), 'First page\n\nSecond page'],
    ['a Word document', 'docx', docx(['Guten Tag', 'Tom &amp; Eva']), 'Guten Tag\n\nTom & Eva'],
    [
      'a workbook',
      'xlsx',
      xlsx([
        ['Rent', '500'],
        ['Food', '200'],
      ]),
      'Rent\t500\nFood\t200',
    ],
    ['a presentation', 'pptx', pptx(['First slide', 'Second slide']), 'First slide\nSecond slide'],
    ['an OpenDocument text', 'odt', odt(['Guten Tag', 'Auf Wiedersehen']), 'Guten Tag\nAuf Wiedersehen'],
    ['an RTF document', 'rtf', Buffer.from(rtf), 'Guten Tag\nWörter'],
    ['a page without its scripts and styles', 'html', Buffer.from(html), 'Guten Tag'],
    ['text in UTF-8 with a mark', 'plain', Buffer.from('\ufeffGrüße\r\nan alle'), 'Grüße\nan alle'],
    ['text in UTF-16 with a mark', 'plain', Buffer.from('\ufeffGrüße', 'utf16le'), 'Grüße'],
    ['text in UTF-16 without a mark', 'plain', Buffer.from('Grüße an alle', 'utf16le').swap16(), 'Grüße an alle'],
    ['text in Latin-1', 'plain', Buffer.from('Grüße', 'latin1'), 'Grüße'],
    ['nothing', 'plain', Buffer.alloc(0), ''],
  ])('%s', async (_, kind, bytes, expected) => {
    expect(await extract(bytes, kind)).toEqual(text(expected))
  })
})

const bomb = (claimedSize: number) =>
  docx(['x'], [{ name: 'word/media/a', content: '', deflated: deflatedZeros(2048), claimedSize }])
const nestedArchive = (name: string) => docx(['x'], [{ name, content: zip([{ name: 'a', content: 'b' }]) }])
const manyEntries = Array.from({ length: 10_001 }, (_, index) => ({ name: `word/${index}`, content: '' }))
const passwordProtected = Buffer.concat([Buffer.from('d0cf11e0a1b11ae1', 'hex'), Buffer.alloc(1000)])
const deep = (depth: number, open: string, close: string) => open.repeat(depth) + close.repeat(depth)

describe.concurrent('no text, but a reason, is what comes of', () => {
  test.each<[string, TextKind, Buffer, string]>([
    ['2 GiB of zeros in 2 MB', 'docx', bomb(2 ** 31), 'too-large'],
    ['2 GiB that the directory calls 1,000 bytes', 'docx', bomb(1000), 'damaged'],
    ['100,000 pages', 'pdf', pdf({ lines: ['x'], repeated: 100_000 }), 'too-large'],
    ['10,001 entries', 'docx', docx(['x'], manyEntries), 'too-large'],
    ['an archive in an archive', 'docx', nestedArchive('word/more.zip'), 'damaged'],
    ['an entry outside the archive', 'docx', docx(['x'], [{ name: '../../etc/passwd', content: 'x' }]), 'damaged'],
    ['two entries of one name', 'docx', docx(['x'], [{ name: 'word/document.xml', content: 'y' }]), 'damaged'],
    ['an encrypted entry', 'docx', docx(['x'], [{ name: 'word/a', content: 'x', isEncrypted: true }]), 'encrypted'],
    ['a Word document with a password', 'docx', passwordProtected, 'encrypted'],
    ['a PDF with a password', 'pdf', pdf({ lines: ['x'], isEncrypted: true }), 'encrypted'],
    ['a truncated PDF', 'pdf', pdf({ lines: ['x'] }).subarray(0, 60), 'damaged'],
    ['a truncated workbook', 'xlsx', xlsx([['x']]).subarray(0, 900), 'damaged'],
    ['an empty PDF', 'pdf', Buffer.alloc(0), 'damaged'],
    ['an empty Word document', 'docx', Buffer.alloc(0), 'damaged'],
    [
      'a picture that is called a document',
      'pptx',
      Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\xea\x60\0\0\xea\x60', 'latin1'),
      'damaged',
    ],
    ['two million groups in RTF', 'rtf', Buffer.from(`{\\rtf1 ${deep(2_000_000, '{', '}')}}`), 'damaged'],
    ['half a million elements in each other', 'html', Buffer.from(deep(500_000, '<div>', '</div>')), 'damaged'],
    ['a program that is called text', 'plain', Buffer.from('\x7fELF\x02\x01\x01\0\0\0', 'latin1'), 'damaged'],
  ])('%s', async (_, kind, bytes, unreadable) => {
    expect(await extract(bytes, kind)).toEqual({ unreadable })
  })
})

test('a document that is embedded in another is passed over', async () => {
  expect(await extract(nestedArchive('word/embeddings/sheet.xlsx'), 'docx')).toEqual(text('x'))
})

test('text beyond what is kept is left out, and said to be', async () => {
  const pages = pdf({ lines: Array.from({ length: 1000 }, (_, index) => `Page ${index} of a long report`) })
  const found = await extract(pages, 'pdf')
  expect(found).toMatchObject({ truncated: true, text: expect.stringMatching(/^Page 0 of a long report\n/) })
  expect('text' in found && found.text.length).toBeLessThanOrEqual(bounds.maxCharacters)
})

test('a file that takes too much memory ends its own process only', async () => {
  const held = process.memoryUsage.rss()
  const small = createSandboxPool({ ...bounds, memory: 160 * MB })
  expect(await extract(Buffer.alloc(200 * MB, 'a'), 'plain', small)).toEqual({ unreadable: 'too-much-memory' })
  expect(process.memoryUsage.rss() - held).toBeLessThan(300 * MB)
})

test('a file that takes too long ends its own process only', async () => {
  const hasty = createSandboxPool({ ...bounds, timeout: 2000 })
  const endless = pdf({ lines: ['x'], repeated: 5000, drawing: 'q Q '.repeat(500_000) })
  expect(await extract(endless, 'pdf', hasty)).toEqual({ unreadable: 'too-slow' })
})

test('a file that cannot be read to its end is an error, not a reason', async () => {
  const broken = Readable.from(
    (async function* () {
      yield Buffer.from('%PDF-1.7')
      throw new Error('the disk is gone')
    })(),
  )
  await expect(sandboxes.read(broken, 'pdf')).rejects.toThrow('the disk is gone')
})

test('an extraction that is not wanted any more ends at once', async () => {
  const stop = new AbortController()
  const never = new Readable({ read() {} })
  const extraction = sandboxes.read(never, 'plain', stop.signal)
  stop.abort()
  await expect(extraction).rejects.toThrow('abort')
})

/** A server that nothing should call. */
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
  const word = await extract(docx(['&e;'], [], prolog), 'docx')
  expect(JSON.stringify(word)).not.toContain('root:')
  expect(await extract(Buffer.from(page), 'html')).toMatchObject({ text: expect.stringContaining('read') })
  expect(outside.requests).toEqual([])
})

const sandbox = join(dirname(fileURLToPath(import.meta.url)), '../../server/files/sandbox')

test('a parser could reach neither the network nor a file nor a program', async () => {
  await using outside = await listener()
  const probe = `
    import { cutOff } from ${JSON.stringify(join(sandbox, 'no-network.ts'))}
    const { default: http } = await import('node:http')
    const { default: net } = await import('node:net')
    const { default: dns } = await import('node:dns')
    const { default: dgram } = await import('node:dgram')
    const { execFileSync } = await import('node:child_process')
    const { readFileSync, writeFileSync } = await import('node:fs')
    cutOff()
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
