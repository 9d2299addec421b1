import type { ServerResponse } from 'node:http'
import sharp from 'sharp'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startApp, type TestApp, type TestUser } from '../kit/app.ts'
import { sendsPage, startSite } from '../kit/net/site.ts'

const base = '/api/svc/v1/proxy/link-preview'
const icon = await sharp({ create: { width: 32, height: 32, channels: 3, background: '#c00' } })
  .png()
  .toBuffer()
const photo = await sharp({ create: { width: 1200, height: 630, channels: 3, background: '#06c' } })
  .withExif({ IFD0: { Copyright: 'somebody' } })
  .jpeg()
  .toBuffer()

const send = (type: string, bytes: Uint8Array | string) => sendsPage(bytes, { 'content-type': type })

let svc: TestApp
let ada: TestUser
let site: Awaited<ReturnType<typeof startSite>>

beforeAll(async () => {
  site = await startSite('127.0.0.2', {
    '/': sendsPage('<link rel="icon" href="/bad.svg"><link rel="icon" href="/icon.png">'),
    '/article': sendsPage(
      `<!doctype html><html><head><title>A &amp; B\n  C</title><meta name="description" content="later">
       <meta property="og:description" content="What it&#39;s about">
       <meta name="twitter:image" content="/icon.png"><meta name="image" property="og:image" content="/photo.jpg"></head><body><title>no</title>`,
    ),
    '/bare': sendsPage('<p>nothing'),
    '/photo.jpg': send('image/jpeg', photo),
    '/icon.png': send('image/png', icon),
    '/bad.svg': send('image/svg+xml', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'),
    '/not-a-page': send('application/pdf', '%PDF'),
  })
  svc = await startApp({ LINK_PREVIEW_NETWORKS: '127.0.0.2', LINK_PREVIEW_PORTS: `80,443,${site.port}` })
  ada = await svc.user({ abilities: ['read'] })
})

afterAll(async () => {
  await svc[Symbol.asyncDispose]()
  await site[Symbol.asyncDispose]()
})

const requestPreview = (kind: string, url: string, token: string | undefined = ada.token) =>
  svc.send('GET', `${base}/${kind}?url=${encodeURIComponent(url)}`, { token })

test('a link preview has title, description, picture and icon from this service', async () => {
  const url = `${site.url}/article?q=1`
  const answer = await requestPreview('metadata', url)

  expect(answer.status).toBe(200)
  expect(answer.headers.get('content-type')).toContain('application/json')
  const preview = (await answer.json()) as Record<string, string>
  expect(preview).toEqual({
    url,
    domain: '127.0.0.2',
    title: 'A & B C',
    description: "What it's about",
    image: `${base}/image?url=${encodeURIComponent(`${site.url}/photo.jpg`)}`,
    favicon: `${base}/favicon?url=${encodeURIComponent(site.url)}`,
    isFallback: false,
  })

  const image = await svc.send('GET', preview['image'] ?? '', { token: ada.token })
  expect(image.headers.get('content-type')).toBe('image/webp')
  expect(image.headers.get('content-security-policy')).toContain("default-src 'none'")
  const { width, height, exif } = await sharp(await image.arrayBuffer()).metadata()
  expect([width, height, exif]).toEqual([640, 336, undefined])

  const favicon = await svc.send('GET', preview['favicon'] ?? '', { token: ada.token })
  expect(favicon.headers.get('content-type')).toBe('image/webp')
  expect((await sharp(await favicon.arrayBuffer()).metadata()).width).toBe(32)
})

test('a page is read once, whoever asks for it', async () => {
  const other = await svc.user()
  const url = `${site.url}/bare`

  await requestPreview('metadata', url)
  const again = await requestPreview('metadata', url, other.token)

  expect(await again.json()).toMatchObject({ title: '127.0.0.2', description: null, isFallback: false })
  expect(site.requestedPaths.filter((path) => path === '/bare')).toHaveLength(1)
})

describe('a page that many ask for at once', () => {
  /** Answers `/slow` on request. */
  const held: ServerResponse[] = []
  beforeAll(() => {
    site.paths['/slow'] = (_, response) => void held.push(response)
  })
  beforeEach(() => {
    held.length = 0
  })
  const abandonRequest = (url: string) => {
    const gone = new AbortController()
    const pending = fetch(`${svc.url}${base}/metadata?url=${encodeURIComponent(url)}`, {
      headers: { authorization: `Bearer ${ada.token}` },
      signal: gone.signal,
    })
    pending.catch(() => {})
    return gone
  }

  test('is read once for all, also where the first of them goes away', async () => {
    const others = [await svc.user(), await svc.user()]
    const url = `${site.url}/slow?once`
    const first = abandonRequest(url)
    await expect.poll(() => held.length).toBe(1)
    const answers = others.map(({ token }) => requestPreview('metadata', url, token))
    // A later response shows that each request is waiting by now.
    await Promise.all(others.map(({ token }) => requestPreview('metadata', `${site.url}/bare`, token)))
    first.abort()
    await requestPreview('metadata', `${site.url}/bare`)
    held[0]?.setHeader('content-type', 'text/html').end('<title>Slow</title>')

    for (const answer of answers) expect(await (await answer).json()).toMatchObject({ title: 'Slow' })
    expect(site.requestedPaths.filter((path) => path === '/slow?once')).toHaveLength(1)
  })

  test('is not read on once nobody waits for it', async () => {
    const [one, other] = [abandonRequest(`${site.url}/slow?left`), abandonRequest(`${site.url}/slow?left`)]
    await expect.poll(() => held.length).toBe(1)
    one.abort()
    other.abort()

    await expect.poll(() => held[0]?.closed).toBe(true)
  })
})

test('what cannot be read has a stand-in, not an error', async () => {
  for (const url of [
    `${site.url}/missing`,
    `${site.url}/not-a-page`,
    'http://127.0.0.1/',
    'http://ada:secret@127.0.0.2/',
  ]) {
    const answer = await requestPreview('metadata', url)
    expect(answer.status, url).toBe(200)
    const domain = new URL(url).hostname
    expect(await answer.json(), url).toMatchObject({
      title: domain,
      description: null,
      isFallback: true,
      image: `${base}/image?url=fallback_${domain}`,
    })
  }
  const [image, same, svg, missing] = await Promise.all(
    ['fallback_a', 'fallback_a', `${site.url}/bad.svg`, `${site.url}/missing.png`].map((url) =>
      requestPreview('image', url),
    ),
  )
  for (const answer of [image, same, svg, missing]) {
    expect(answer?.status).toBe(200)
    expect(answer?.headers.get('content-type')).toBe('image/png')
  }
  expect(image?.headers.get('etag')).toBe(same?.headers.get('etag'))
  const { width, height } = await sharp(await svg!.arrayBuffer()).metadata()
  expect([width, height]).toEqual([160, 90])
  const icon = await requestPreview('favicon', 'http://127.0.0.1/')
  expect(icon.headers.get('content-type')).toBe('image/svg+xml')
})

test('a URL that is missing or none is refused by name', async () => {
  for (const query of [
    '',
    '?url=',
    '?url=nothing',
    '?url=ftp%3A%2F%2Fexample.org',
    '?url=http%3A%2F%2F',
    '?url=a&url=b',
    `?url=http://e.org/${'x'.repeat(2048)}`,
  ]) {
    const answer = await svc.send('GET', `${base}/metadata${query}`, { token: ada.token })
    expect(answer.status, query).toBe(422)
    const { errors } = (await answer.json()) as { errors: { source: unknown }[] }
    expect(errors[0]?.source, query).toEqual({ parameter: 'url' })
  }
})

test('an unknown parameter is refused by name, and a language parameter is ignored', async () => {
  for (const kind of ['metadata', 'image', 'favicon'])
    for (const query of ['?url=http%3A%2F%2Fexample.org%2F&foo=1', '?foo=1']) {
      const answer = await svc.send('GET', `${base}/${kind}${query}`, { token: ada.token })
      const { errors } = (await answer.json()) as { errors: { status: string; code: string; source: unknown }[] }

      expect([answer.status, new Set(errors.map(({ status }) => status))]).toEqual([400, new Set(['400'])])
      expect(errors.find(({ code }) => code === 'unsupported_parameter')?.source).toEqual({ parameter: 'foo' })
    }
  const inGerman = await svc.send('GET', `${base}/image?url=fallback_a&lang=de`, { token: ada.token })
  expect(inGerman.status).toBe(200)
})

test('a method that is not served is refused with those that are', async () => {
  for (const path of [`${base}/metadata`, `${base}/image`, `${base}/favicon`])
    for (const method of ['POST', 'PATCH', 'PUT', 'DELETE']) {
      const { status, headers } = await svc.send(method, path, { token: ada.token })
      expect([path, method, status, headers.get('allow')]).toEqual([path, method, 405, 'GET, HEAD, OPTIONS'])
    }
  expect((await svc.send('HEAD', `${base}/image?url=fallback_a`, { token: ada.token })).status).toBe(200)
})

test('only people may ask, and their tokens that may read', async () => {
  const [guest, other] = [
    await svc.send('GET', `${base}/metadata?url=${site.url}`),
    await svc.user({ abilities: ['ai'] }),
  ]
  expect(guest.status).toBe(401)
  expect((await requestPreview('metadata', site.url, other.token)).status).toBe(403)
  expect((await svc.send('GET', `${base}/image?url=fallback_a`)).status).toBe(401)
})
