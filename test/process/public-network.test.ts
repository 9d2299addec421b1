import type { RequestListener } from 'node:http'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parseNetwork } from '../../server/config/settings/setting-types.ts'
import { PublicNetwork } from '../../server/net/public-network.ts'
import { createWebReader } from '../../server/net/web-reader.ts'
import { findFreePort } from '../kit/free-port.ts'
import { redirectsTo, sendsPage, startSite } from '../kit/net/site.ts'

/** Answers of the DNS for each name, by query; the last answer repeats. */
const names: Record<string, string[][]> = {
  'site.test': [['127.0.0.2']],
  'site.test.': [['127.0.0.2']],
  'private.test': [['10.0.0.1']],
  'mixed.test': [['127.0.0.2', '127.0.0.1']],
  'mixed-families.test': [['127.0.0.2', '::1']],
  'mapped.test': [['::ffff:127.0.0.1']],
  'nowhere.test': [[]],
  'rebinding.test': [['127.0.0.2'], ['127.0.0.1']],
  'xn--bcher-kva.test': [['127.0.0.2']],
}

const questions: string[] = []

async function resolve(hostname: string): Promise<string[]> {
  const answers = names[hostname] ?? [[]]
  const before = questions.filter((question) => question === hostname).length
  questions.push(hostname)
  return answers[Math.min(before, answers.length - 1)] ?? []
}

type Site = Awaited<ReturnType<typeof startSite>>
let site: Site
/** A server on the same port of a forbidden address. */
let secret: Site
let reader: ReturnType<typeof createWebReader>
let sent = 0

beforeAll(async () => {
  const port = await findFreePort()
  const paths = {
    '/': sendsPage('public'),
    '/to-private': redirectsTo('http://127.0.0.1/'),
    '/to-port': redirectsTo('http://site.test:22/'),
    '/to-file': redirectsTo('file:///etc/passwd'),
    '/to-user': redirectsTo('http://ada:secret@site.test/'),
    '/loop': redirectsTo('/loop'),
    '/five': redirectsTo('/four'),
    '/four': redirectsTo('/three'),
    '/three': redirectsTo('/two'),
    '/two': redirectsTo('/one'),
    '/one': redirectsTo('/'),
    '/gzip': sendsPage(gzipSync('small'), { 'content-encoding': 'gzip' }),
    '/bomb': sendsPage(gzipSync(Buffer.alloc(64 * 1024 * 1024)), { 'content-encoding': 'gzip' }),
    '/broken': sendsPage('no gzip', { 'content-encoding': 'gzip' }),
    '/coded': sendsPage('?', { 'content-encoding': 'zstd, gzip' }),
    '/endless': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      const more = () => {
        while (!response.destroyed) {
          sent += 65_536
          if (!response.write(Buffer.alloc(65_536))) return void response.once('drain', more)
        }
      }
      more()
    },
    '/drip': (_, response) => {
      response.writeHead(200, { 'content-type': 'text/html' })
      const timer = setInterval(() => response.write('.'), 20)
      response.once('close', () => clearInterval(timer))
    },
    '/silent': () => {},
  } satisfies Record<string, RequestListener>
  site = await startSite('127.0.0.2', paths, port)
  secret = await startSite('127.0.0.1', { '/': sendsPage('secret') }, port)
  reader = createWebReader({
    userAgent: 'test',
    ports: [80, 443, site.port],
    openNetworks: [parseNetwork('127.0.0.2')],
    refusedHosts: ['own.test'],
    resolve,
  })
})

afterAll(async () => {
  await reader.close()
  await Promise.all([site, secret].map((one) => one[Symbol.asyncDispose]()))
})

async function read(url: string, { timeout = 20_000, most = 1_000_000 } = {}): Promise<string> {
  const request = { accept: '*/*', kinds: ['text/'], timeout, signal: new AbortController().signal }
  const { body } = await reader.open(url, request)
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    parts.push(part)
    bytes += part.length
    if (bytes > most) break
  }
  return Buffer.concat(parts).toString()
}

const at = (host: string, path = '/') => `http://${host}:${site.port}${path}`

describe('a request whose address a stranger chose', () => {
  test.each([
    '127.0.0.1',
    '2130706433',
    '0x7f000001',
    '0177.0.0.1',
    '0x7f.1',
    '127.1',
    '127.0.0.1.',
    '0',
    '0.0.0.0',
    '10.1.2.3',
    '172.16.0.1',
    '192.168.0.1',
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '192.0.0.192',
    '198.18.0.1',
    '192.0.2.1',
    '224.0.0.1',
    '255.255.255.255',
    '[::]',
    '[::1]',
    '[::127.0.0.1]',
    '[::ffff:127.0.0.1]',
    '[::ffff:7f00:1]',
    '[::ffff:0:127.0.0.1]',
    '[64:ff9b::7f00:1]',
    '[64:ff9b:1::7f00:1]',
    '[2002:7f00:1::]',
    '[2001::1]',
    '[2001:db8::1]',
    '[fe80::1]',
    '[fec0::1]',
    '[fd00:ec2::254]',
    '[ff02::1]',
    '[4000::1]',
    '①②⑦.⓪.⓪.①',
  ])('never reaches %s', async (host) => {
    await expect(read(at(host))).rejects.toThrow('not a public address')
  })

  test.each([
    ['private.test', 'not a public address'],
    ['mixed.test', 'not a public address'],
    ['mixed-families.test', 'not a public address'],
    ['mapped.test', 'not a public address'],
    ['nowhere.test', 'no such host'],
    ['own.test', 'not a foreign host'],
    ['OWN.test.', 'not a foreign host'],
  ])('never reaches %s: %s', async (host, message) => {
    await expect(read(at(host))).rejects.toThrow(message)
  })

  test.each([
    ['ftp://site.test/', 'only http and https'],
    ['file:///etc/passwd', 'only http and https'],
    ['http://ada@site.test/', 'no credentials'],
    ['http://:secret@site.test/', 'no credentials'],
    ['http://site.test:22/', 'not a web port'],
    ['https://site.test:8443/', 'not a web port'],
    ['http://[fe80::1%25eth0]/', 'Invalid URL'],
    ['http://1.2.3.4.5/', 'Invalid URL'],
  ])('is not sent to %s: %s', async (url, message) => {
    await expect(read(url)).rejects.toThrow(message)
  })

  test('goes to the address that was judged, which nothing but the test knows', async () => {
    expect(await read(at('site.test'))).toBe('public')
    expect(await read(at('site.test.'))).toBe('public')
    expect(await read(at('bücher.test'))).toBe('public')
  })

  test('asks for a name once, so that a second answer cannot lead it elsewhere', async () => {
    expect(await read(at('rebinding.test'))).toBe('public')
    expect(questions.filter((question) => question === 'rebinding.test')).toHaveLength(1)
    expect(secret.requestedPaths).toEqual([])
  })

  test.each([
    ['/to-private', 'not a public address'],
    ['/to-port', 'not a web port'],
    ['/to-file', 'only http and https'],
    ['/to-user', 'no credentials'],
    ['/loop', 'too many redirects'],
  ])('does not follow %s: %s', async (path, message) => {
    await expect(read(at('site.test', path))).rejects.toThrow(new RegExp(message))
    expect(secret.requestedPaths).toEqual([])
  })

  test('follows five redirects', async () => {
    expect(await read(at('site.test', '/five'))).toBe('public')
  })

  test('reads what is compressed, and no more of it than is wanted', async () => {
    expect(await read(at('site.test', '/gzip'))).toBe('small')
    expect((await read(at('site.test', '/bomb'))).length).toBeLessThan(1_200_000)
    await expect(read(at('site.test', '/broken'))).rejects.toThrow('incorrect header check')
    await expect(read(at('site.test', '/coded'))).rejects.toThrow('unknown content coding')
  })

  test('leaves an endless answer where its reader has enough, or the client has', async () => {
    await read(at('site.test', '/endless'))
    expect(sent).toBeLessThan(16 * 1024 * 1024)
    await expect(read(at('site.test', '/endless'), { most: 1e12 })).rejects.toThrow('exceeded')
  })

  test.each(['/silent', '/drip'])('ends in time where the site is slow: %s', async (path) => {
    await expect(read(at('site.test', path), { timeout: 200 })).rejects.toThrow('timeout')
  })

  test('reaches whatever is public', () => {
    const network = new PublicNetwork()
    for (const url of [
      'https://example.org/',
      'http://93.184.216.34/',
      'https://[2606:4700::1111]/',
      'https://example.org:443/',
    ])
      expect(() => network.assertAllowed(new URL(url)), url).not.toThrow()
  })
})
