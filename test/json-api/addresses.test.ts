import { afterAll, describe, expect, test } from 'vitest'
import { buildRoutes } from '../../facades/json-api/routes.ts'
import { allResources, wholeRouter, withAssistants } from '../kit/json-api/assistants.ts'
import { addCatalogue, mediaType, startJsonApi } from '../kit/json-api/client.ts'
import { bearerHeader, sendRaw } from '../kit/json-api/raw-request.ts'

const svc = await startJsonApi(withAssistants)
const catalogue = await addCatalogue(svc)
afterAll(() => svc[Symbol.asyncDispose]())

describe('addresses and methods', () => {
  test('every address refuses each method it lacks, and names those it has', async () => {
    const headers = { ...bearerHeader(svc.people.admin.token), 'content-type': 'text/plain' }
    for (const [url, routes] of Map.groupBy(buildRoutes(wholeRouter), ({ url }) => url)) {
      const allowed = routes.flatMap(({ method }): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      allowed.push('OPTIONS')
      const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((name) => !allowed.includes(name))
      for (const method of others) {
        const path = url.replace(':id', '1')
        const { status, headers: answered } = await sendRaw(svc.url, { method, path, headers, body: 'no document' })
        expect([method, path, status]).toEqual([method, path, 405])
        expect(String(answered['allow']).split(', ').toSorted()).toEqual(allowed.toSorted())
        expect(answered['content-type']).toBe(mediaType)
      }
    }
  })

  test('HEAD says what GET would, without the body', async () => {
    const headers = bearerHeader(svc.people.ada.token)

    const get = await sendRaw(svc.url, { method: 'GET', path: '/ai-models?include=provider', headers })
    const head = await sendRaw(svc.url, { method: 'HEAD', path: '/ai-models?include=provider', headers })
    const missing = await sendRaw(svc.url, { method: 'HEAD', path: '/ai-models/99999', headers })

    expect(head.status).toBe(200)
    expect(head.text).toBe('')
    for (const name of ['etag', 'content-type', 'content-length', 'vary', 'cache-control'])
      expect([name, head.headers[name]]).toEqual([name, get.headers[name]])
    expect([missing.status, missing.text]).toEqual([404, ''])
  })

  const nowhere = [
    '',
    '/',
    '/nonsense',
    '/ai-models/1/nonsense',
    '/ai-models/1/relationships/nonsense',
    '/ai-models/1/relationships/constructor',
    '/ai-models/actions/nonsense',
    '/constructor',
    '/__proto__',
    '/ai-models/%E0%A4%A',
    '/%',
    `/ai-models/${'9'.repeat(8000)}`,
    '/ai-models//1',
    '/AI-MODELS',
  ]

  test('nothing is at any other address, whatever the body is', async () => {
    const headers = bearerHeader(svc.people.admin.token)
    for (const path of nowhere) {
      const get = await sendRaw(svc.url, { method: 'GET', path, headers })
      const post = await sendRaw(svc.url, {
        method: 'POST',
        path,
        headers: { ...headers, 'content-type': 'text/plain' },
        body: 'x',
      })

      expect([path, get.status]).toEqual([path, 404])
      // An invalid id matches an address with other methods.
      expect([404, 405]).toContain(post.status)
      for (const { headers, text } of [get, post]) {
        expect(headers['content-type']).toBe(mediaType)
        expect(JSON.parse(text).errors[0].meta.requestId).toBe(headers['x-request-id'])
      }
    }
  })

  test('an id may be percent-encoded', async () => {
    const { model } = catalogue
    const encoded = [...model.external].map((digit) => `%3${digit}`).join('')

    expect((await svc.ada.get(`/ai-models/${encoded}`)).one.id).toBe(model.external)
    expect((await svc.ada.get('/ai-model-flags/open%2Dweights')).one.id).toBe('open-weights')
    expect((await svc.ada.get('/translation-labels/en%5FUS')).one.id).toBe('en_US')
  })
})

test('every type and every relation has its addresses', () => {
  const urls = new Set(buildRoutes(wholeRouter).map(({ method, url }) => `${method} ${url}`))
  for (const { type, relations, entity } of allResources) {
    expect(urls, type).toContain(`GET /${type}/:id`)
    if (entity) expect(urls, type).toContain(`GET /${type}`)
    for (const name of Object.keys(relations)) {
      expect(urls).toContain(`GET /${type}/:id/${name}`)
      for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
        expect(urls).toContain(`${method} /${type}/:id/relationships/${name}`)
    }
  }
})
