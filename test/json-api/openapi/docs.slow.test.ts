import { get } from 'node:http'
import { Validator } from '@seriousme/openapi-schema-validator'
import { afterAll, expect, test } from 'vitest'
import { startApp } from '../../kit/app.ts'
import { signIn } from '../../kit/browser.ts'
import { withAssistants } from '../../kit/json-api/assistants.ts'
import { type OpenApi, openApi } from '../../kit/json-api/openapi.ts'
import { describeWith } from '../../kit/parts/with-parts.ts'
import { openContext as openBrowserContext } from '../../kit/web/chromium.ts'

const svc = await startApp(withAssistants)
afterAll(() => svc[Symbol.asyncDispose]())

const policyOf = (response: Response) => response.headers.get('content-security-policy') ?? ''

/** Sends a request with another Host header. */
const statusFor = (url: string, path: string, host: string) =>
  new Promise<number>((answered, failed) => {
    const request = get(url + path, { headers: { host } }, (response) => {
      response.resume()
      answered(response.statusCode ?? 0)
    })
    request.on('error', failed)
  })

test('GET /docs is open to everybody and loads nothing from elsewhere', async () => {
  for (const path of ['/docs', '/docs/']) {
    const page = await svc.send('GET', path)
    const policy = policyOf(page)
    const scripts = (await page.text()).matchAll(/<script([^>]*)>([^<]*)/g)

    expect(page.status).toBe(200)
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("script-src 'self';")
    expect(policy).not.toMatch(/https?:|\*|unsafe-eval/)
    expect([...scripts].map(([, attributes, code]) => [attributes, code])).toEqual([[' src="/docs/scalar.js"', '']])
  }
})

test('GET /docs is not sent again to who has it, nor is its script', async () => {
  for (const path of ['/docs', '/docs/scalar.js']) {
    const first = await svc.send('GET', path)
    const etag = first.headers.get('etag')!
    const again = await svc.send('GET', path, { headers: { 'if-none-match': etag } })

    expect([path, first.status, again.status]).toEqual([path, 200, 304])
    expect((await first.text()).length).toBeGreaterThan(100)
  }
})

test('GET /docs leaves every other address as closed as it was', async () => {
  for (const path of ['/health', '/docs/scalar.js', '/nowhere']) {
    const response = await svc.send('GET', path)
    await response.arrayBuffer()
    expect(policyOf(response), path).toContain("default-src 'none'")
    expect(policyOf(response), path).not.toContain("'self' 'unsafe-inline'")
  }
})

test('GET /docs answers a caller that names a host which cannot be one', async () => {
  const statuses = await Promise.all(['/docs', '/docs/'].map((path) => statusFor(svc.url, path, '[')))

  expect(statuses).toEqual([200, 200])
})

const PATIENCE = 150_000

describeWith('chromium')('the page in Chromium', { timeout: PATIENCE }, () => {
  /** A generous timeout, as a browser beside other tests may be slow. */
  async function openContext() {
    const context = await openBrowserContext()
    context.setDefaultTimeout(PATIENCE)
    return context
  }

  test('shows the operations of ai-models, and asks no other host for anything', async () => {
    await using context = await openContext()
    const urls: string[] = []
    const failures: string[] = []
    context.on('request', (request) => urls.push(request.url()))
    const page = await context.newPage()
    page.on('pageerror', (error) => failures.push(error.message))

    await page.goto(`${svc.url}/docs#tag/ai-models/GET/api/svc/v1/ai-models`)
    await page.getByText('/ai-models/{id}/relationships/tools').first().waitFor()
    const text = await page.locator('body').innerText()

    for (const shown of ['/ai-models', '/ai-models/{id}', '/ai-models/{id}/relationships/tools', 'tools.server'])
      expect(text).toContain(shown)
    expect(text).toContain('AI models that can be asked.')
    expect(new Set(urls.filter((url) => !url.startsWith('data:')).map((url) => new URL(url).origin))).toEqual(
      new Set([svc.url]),
    )
    expect(urls).toContain(`${svc.url}/api/svc/v1/openapi.json`)
    expect(failures).toEqual([])
  })

  test('begins with a first request', async () => {
    await using context = await openContext()
    const page = await context.newPage()

    await page.goto(`${svc.url}/docs`)
    await page.getByRole('heading', { name: 'First request' }).waitFor()

    expect(await page.locator('body').innerText()).toContain('/api/ai-req')
  })

  test('could not ask another host if it tried', async () => {
    await using context = await openContext()
    const page = await context.newPage()
    await page.goto(`${svc.url}/docs`)

    const refused = await page.evaluate(`new Promise((told) => {
      document.addEventListener('securitypolicyviolation', ({ blockedURI }) => told(blockedURI))
      fetch('https://example.org/').catch(() => undefined)
    })`)

    expect(refused).toBe('https://example.org/')
  })

  test('sends a request to the service and shows the answer', async () => {
    await using context = await openContext()
    const page = await context.newPage()

    await page.goto(`${svc.url}/docs#tag/configs/GET/api/svc/v1/configs`)
    await page.getByRole('button', { name: /Test Request\s*\(get \/api\/svc\/v1\/configs\)/ }).click()
    const [response] = await Promise.all([
      page.waitForResponse((it) => it.url().startsWith(`${svc.url}/api/svc/v1/configs`)),
      page.getByRole('button', { name: /^Send/ }).first().click(),
    ])
    await page.getByText('200 OK').first().waitFor()
    expect(response.status()).toBe(200)
  })
})

test('the OpenAPI document that is served has what each face describes of itself', async () => {
  const { paths } = (await (await svc.send('GET', '/api/svc/v1/openapi.json')).json()) as Pick<OpenApi, 'paths'>

  for (const path of ['/health', '/api/ai-req', '/v1/chat/completions', '/v1/messages', '/v1/models'])
    expect(Object.keys(openApi.paths)).toContain(path)
  expect(Object.keys(paths)).toEqual(expect.arrayContaining(Object.keys(openApi.paths)))
})

test('the served OpenAPI document has the routes of existing front ends', async () => {
  const document = await (await svc.send('GET', '/api/svc/v1/openapi.json')).json()
  const paths = (document as { paths: Record<string, Record<string, Described>> }).paths
  const older = Object.entries(paths).flatMap(([path, item]) =>
    path.startsWith('/req/')
      ? Object.entries(item).map(([method, described]) => ({ path, method: method.toUpperCase(), described }))
      : [],
  )

  expect((await new Validator().validate(structuredClone(document) as never)).errors).toBeUndefined()
  expect(new Set(older.map(({ described }) => described.operationId)).size).toBe(older.length)
  expect(new Set(older.map(({ path }) => path.split('/')[2]))).toEqual(new Set(['conv', 'room', 'inv', 'streamAI']))
  const required = (path: string, method = 'post') => {
    const [form] = Object.values(paths[path]?.[method]?.requestBody?.content ?? {})
    return form?.schema.anyOf?.map((one) => one.required) ?? form?.schema.required
  }
  const byId = ['content', 'version']
  expect(required('/req/room/sendMessage/{slug}')).toEqual([['content', 'threadId'], byId])
  expect(required('/req/room/updateMessage/{slug}')).toEqual([
    ['content', 'message_id'],
    [...byId, 'id'],
  ])
  expect(required('/req/inv/sendExternInvitation')).toEqual(['username', 'hash', 'slug'])
  expect(required('/req/conv/message/delete/{slug}', 'delete')).toEqual(['message_id'])
  const parameters = (path: string) => paths[path]?.['get']?.parameters.map(({ name, in: at }) => `${at} ${name}`)
  expect(parameters('/req/conv')).toEqual(['query size', 'query after'])
  expect(parameters('/req/conv/{slug}')).toEqual(['path slug', 'query size', 'query before'])
  expect(Object.keys(paths['/req/conv/attachment/upload']?.['post']?.requestBody?.content ?? {})).toEqual([
    'multipart/form-data',
  ])
  const { browser } = await signIn(svc, 'ada')
  const { properties } = (document as { components: { schemas: Record<string, { properties: object }> } }).components
    .schemas['refusal.older']!
  for (const { path, method, described } of older) {
    const at = path.replaceAll(/\{\w+\}/g, 'x')
    const guest = await svc.send(method, at, { headers: { 'sec-fetch-site': 'same-origin' } })
    expect([path, guest.status]).toEqual([path, 401])
    expect(Object.keys(properties), path).toEqual(expect.arrayContaining(Object.keys((await guest.json()) as object)))
    const [form] = Object.entries(described.requestBody?.content ?? {})
    if (form?.[0] !== 'application/json' || !form[1].schema.required || path.includes('{')) continue
    expect([path, (await browser.send(method, at, { body: {} })).status]).toEqual([path, 422])
  }
})

interface Described {
  operationId: string
  parameters: { name: string; in: string }[]
  requestBody?: { content: Record<string, { schema: Shape & { anyOf?: Shape[] } }> }
}

interface Shape {
  required?: string[]
}
