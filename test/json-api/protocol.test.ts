import { once } from 'node:events'
import { request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { routesOf } from '../../facades/json-api/routes.ts'
import { appRouter, resources } from '../../routers/index.ts'
import { addCatalogue, base, idsOf, mediaType, pointersOf, startJsonApi, to, toMany } from '../kit/json-api-client.ts'
import { bearer, raw } from '../kit/json-api-raw.ts'

describe('content negotiation', () => {
  const accepted = [
    ['nothing', undefined],
    ['the media type', mediaType],
    ['the media type among others', `text/html, ${mediaType};q=0.5`],
    ['any type', '*/*'],
    ['any application', 'application/*;q=0.1'],
    ['plain JSON', 'application/json'],
    ['an unknown profile', `${mediaType}; profile="https://example.org/unknown"`],
    ['one good entry beside a bad one', `${mediaType}; charset=utf-8, ${mediaType}`],
    ['a quoted comma', `text/plain; a="b,c", ${mediaType}`],
  ] as const

  test('answers whoever accepts its media type in one way or another', async () => {
    await using svc = await startJsonApi()
    for (const [what, accept] of accepted) {
      const headers = { ...bearer(svc.people.ada.token), ...(accept && { accept }) }

      const { status, headers: answered } = await raw(svc.url, { method: 'GET', path: '/ai-models', headers })

      expect([what, status, answered['content-type']]).toEqual([what, 200, mediaType])
      expect(answered['vary']).toContain('Accept')
    }
  })

  // One second each, were every quote looked at from every other.
  test('is not held up by quotes that nobody closes', { timeout: 30_000 }, async () => {
    await using svc = await startJsonApi()
    for (let round = 0; round < 60; round++) {
      const { status } = await svc.guest.get('/configs', { accept: '\\"'.repeat(7400) })
      expect(status).toBe(406)
    }
  })

  const unacceptable = [
    `${mediaType}; charset=utf-8`,
    `${mediaType}; charset=utf-8, */*`,
    `${mediaType}; ext="https://example.org/unknown"`,
    'text/html',
    `${mediaType};q=0`,
  ]

  test('refuses who accepts only something else', async () => {
    await using svc = await startJsonApi()
    for (const accept of unacceptable) {
      const { status, headers, errors } = await svc.ada.get('/ai-models', { accept })

      expect([accept, status]).toEqual([accept, 406])
      expect(errors).toMatchObject([{ status: '406', code: 'not_acceptable', source: { header: 'Accept' } }])
      expect(headers.get('content-type')).toBe(mediaType)
      expect(headers.get('vary')).toContain('Accept')
    }
  })

  const contentTypes = [
    [`${mediaType}; charset=utf-8`, 415],
    [`${mediaType}; ext="https://example.org/unknown"`, 415],
    [`${mediaType}; profile="https://example.org/unknown"`, 200],
    [mediaType, 200],
    ['application/json', 415],
    ['text/plain', 415],
    [undefined, 415],
  ] as const

  test('takes bodies of its media type alone', async () => {
    await using svc = await startJsonApi()
    const { id, token } = svc.people.ada
    const body = JSON.stringify({ data: { type: 'users', id: String(id), attributes: { bio: 'Hello' } } })
    for (const [type, expected] of contentTypes) {
      const headers = { ...bearer(token), 'content-length': `${body.length}`, ...(type && { 'content-type': type }) }

      const answer = await raw(svc.url, { method: 'PATCH', path: `/users/${id}`, headers, body })

      expect([type, answer.status, answer.headers['content-type']]).toEqual([type, expected, mediaType])
      const source = expected === 415 ? { header: 'Content-Type' } : undefined
      expect(JSON.parse(answer.text).errors?.[0].source).toEqual(source)
    }
  })

  test('keeps its media type in every kind of answer', async () => {
    await using svc = await startJsonApi()

    const answers = [
      await svc.guest.get('/ai-models'),
      await svc.ada.get('/no-such-type'),
      await svc.ada.get('/ai-models?unknown=1'),
      await svc.ada.send('PUT', '/ai-models'),
      await svc.ada.get('/ai-models/%E0%A4%A'),
      await svc.guest.get('/ai-models', { authorization: 'Bearer rubbish' }),
    ]

    for (const { headers } of answers) expect(headers.get('content-type')).toBe(mediaType)
    for (const { errors, headers } of answers) {
      for (const error of errors as unknown as { meta: { requestId: string } }[])
        expect(error.meta.requestId).toBe(headers.get('x-request-id'))
    }
    expect(answers.map(({ status }) => status)).toEqual([401, 404, 400, 405, 404, 401])
  })

  test('answers in its media type while it stops', async () => {
    await using svc = await startJsonApi()
    const headers = {
      ...bearer(svc.people.ada.token),
      'content-type': mediaType,
      'content-length': '2',
      expect: '100-continue',
    }
    // A request whose body is still to come keeps the service from stopping.
    const slow = request(`${svc.url}${base}/users/1`, { method: 'PATCH', headers })
    const slowAnswer = once(slow, 'response')
    slow.flushHeaders()
    await once(slow, 'continue')
    const stopping = svc.stop()

    const refused = await svc.guest.get('/configs')

    slow.end('{}')
    const [{ statusCode }] = await slowAnswer
    await stopping
    expect(refused.status).toBe(503)
    expect(refused.headers.get('content-type')).toBe(mediaType)
    expect(refused.errors).toMatchObject([{ status: '503', code: 'unavailable' }])
    expect(refused.headers.get('retry-after')).toBe('5')
    expect(statusCode).toBe(422)
  })
})

describe('a query', () => {
  const refusedQueries = [
    ['/ai-models?unknown=1', ['unknown']],
    ['/ai-models?include=nonsense', ['include']],
    ['/ai-models?include=provider.models.provider', ['include']],
    ['/ai-models?include=provider&include=tools', ['include']],
    ['/ai-models?page[size]=1&page%5Bsize%5D=2', ['page[size]']],
    ['/ai-models?sort=active', ['sort']],
    ['/ai-models?sort=modelId,label,createdAt,id', ['sort']],
    ['/ai-models?filter[label]=x', ['filter[label]']],
    ['/ai-models?filter=x', ['filter']],
    ['/ai-models?page=2', ['page']],
    ['/ai-models?page[size]=0', ['page[size]']],
    ['/ai-models?page[size]=1001', ['page[size]']],
    ['/ai-models?page[number]=99999999999999999999', ['page[number]']],
    ['/ai-models?page[number]=x&page[offset]=1', ['page[number]', 'page[offset]']],
    ['/ai-models?fields[ai-models]=label,nonsense', ['fields[ai-models]']],
    ['/ai-models?fields[ai-models]=constructor,toString', ['fields[ai-models]', 'fields[ai-models]']],
    ['/ai-models?fields[nonsense]=label', ['fields[nonsense]']],
    ['/ai-models?fields=label', ['fields']],
    ['/ai-models?page[__proto__]=1', ['page[__proto__]']],
    ['/ai-models?filter[constructor]=1', ['filter[constructor]']],
    ['/ai-tools?filter[status]=sleepy', ['filter[status]']],
    ['/ai-tools?filter[assigned]=-1', ['filter[assigned]']],
    ['/ai-tools?filter[status]=active&filter[status]=inactive', ['filter[status]']],
    ['/ai-models/1?sort=label', ['sort']],
    ['/ai-models/1?page[size]=1', ['page[size]']],
    ['/configs?include=models', ['include']],
    ['/configs/public?include=models', ['include']],
    ['/configs/locale?sort=id', ['sort']],
    ['/ai-model-flags?page[size]=1', ['page[size]']],
    ['/translation-labels/en_US?include=labels', ['include']],
    ['/users/me?include=rooms', ['include']],
  ] as const

  test('is refused by the names of its parameters', async () => {
    await using svc = await startJsonApi()
    for (const [path, parameters] of refusedQueries) {
      const { status, errors } = await svc.ada.get(path)

      expect([path, status]).toEqual([path, 400])
      expect(errors.map(({ source }) => source?.['parameter']).toSorted()).toEqual(parameters.toSorted())
      expect(errors.every(({ status }) => status === '400')).toBe(true)
    }
  })

  test('names each problem once', async () => {
    await using svc = await startJsonApi()

    const { errors } = await svc.ada.get('/ai-models?include=a,b&sort=c&unknown=1')

    expect(errors.map(({ code, source }) => [code, source])).toEqual([
      ['unsupported_parameter', { parameter: 'unknown' }],
    ])
  })

  test('is the same with its brackets encoded and not', async () => {
    await using svc = await startJsonApi()
    await addCatalogue(svc)
    const headers = bearer(svc.people.admin.token)

    const bare = await raw(svc.url, { method: 'GET', path: '/ai-models?page[size]=2&fields[ai-models]=label', headers })
    const encoded = await raw(svc.url, {
      method: 'GET',
      path: '/ai-models?page%5Bsize%5D=2&fields%5Bai-models%5D=label',
      headers,
    })

    expect(bare.status).toBe(200)
    expect(JSON.parse(bare.text).data).toEqual(JSON.parse(encoded.text).data)
    expect(JSON.parse(bare.text).data).toHaveLength(2)
  })

  test('of a write is for the members of its answer and nothing else', async () => {
    await using svc = await startJsonApi()
    const { model, tool } = await addCatalogue(svc)
    const body = { data: { type: 'ai-models', id: model.main, attributes: {} } }

    const included = await svc.admin.patch(`/ai-models/${model.main}?include=provider`, body)
    const fewer = await svc.admin.patch(`/ai-models/${model.main}?fields[ai-models]=label`, body)
    const links = await svc.admin.post(`/ai-tools/${tool.search}/relationships/models?page[size]=1`, { data: [] })

    expect(included.status).toBe(400)
    expect(fewer.one.attributes).toEqual({ label: 'Label main' })
    expect(links.status).toBe(400)
  })
})

describe('a compound document', () => {
  test('has every resource that several paths reach once, and links all of them', async () => {
    await using svc = await startJsonApi()
    const { provider } = await addCatalogue(svc)

    const { one, included } = await svc.admin.get(
      `/ai-providers/${provider.open}?include=models,models.provider,models.tools,models.descriptions`,
    )

    const named = included.map(({ type, id }) => `${type}/${id}`)
    expect(new Set(named).size).toBe(named.length)
    expect(named).not.toContain(`ai-providers/${provider.open}`)
    const linked = [one, ...included].flatMap(({ relationships = {} }) =>
      Object.values(relationships).flatMap(({ data }) => data ?? []),
    )
    for (const name of named) expect(linked.map(({ type, id }) => `${type}/${id}`)).toContain(name)
    const back = included.filter(({ type }) => type === 'ai-models')
    expect(back).toHaveLength(3)
    for (const model of back)
      expect(model.relationships?.['provider']?.data).toEqual({ type: 'ai-providers', id: one.id })
  })

  test('goes from a list back to itself without repeating it', async () => {
    await using svc = await startJsonApi()
    await addCatalogue(svc)

    const { list, included } = await svc.admin.get('/ai-providers?include=models.provider')

    expect(new Set(idsOf(included.filter(({ type }) => type === 'ai-providers'))).size).toBe(0)
    expect(list).toHaveLength(3)
    // The path names the resources between, too.
    expect(included.filter(({ type }) => type === 'ai-models')).toHaveLength(5)
  })

  test('has an empty list where nothing was to be included, and none where nobody asked', async () => {
    await using svc = await startJsonApi()
    const { server } = await addCatalogue(svc)

    const empty = await svc.admin.get(`/mcp-servers/${server.up}?include=`)
    const nothing = await svc.admin.get('/system-models?include=model')
    const unasked = await svc.admin.get('/mcp-servers')

    expect(JSON.parse(empty.text).included).toEqual([])
    expect(JSON.parse(nothing.text).included).toEqual([])
    expect(JSON.parse(unasked.text)).not.toHaveProperty('included')
  })

  test('shows only the wanted members, of what was asked for and what came along', async () => {
    await using svc = await startJsonApi()
    const { model } = await addCatalogue(svc)

    const { one, included } = await svc.admin.get(
      `/ai-models/${model.main}?include=provider,tools&fields[ai-models]=label,provider&fields[ai-providers]=&fields[ai-tools]=name`,
    )

    expect(one.attributes).toEqual({ label: 'Label main' })
    expect(Object.keys(one.relationships ?? {})).toEqual(['provider'])
    const [provider] = included.filter(({ type }) => type === 'ai-providers')
    expect(provider?.attributes).toEqual({})
    expect(provider).not.toHaveProperty('relationships')
    const tools = included.filter(({ type }) => type === 'ai-tools')
    expect(tools.length).toBeGreaterThan(0)
    for (const tool of tools) expect(Object.keys(tool.attributes)).toEqual(['name'])
  })

  test('says of a to-one relation what it leads to without being asked, of a to-many one only where it leads', async () => {
    await using svc = await startJsonApi()
    const { model, provider } = await addCatalogue(svc)

    const { one } = await svc.admin.get(`/ai-models/${model.main}`)

    const self = `${base}/ai-models/${model.main}`
    expect(one.links['self']).toBe(self)
    expect(one.relationships?.['provider']).toEqual({
      links: { self: `${self}/relationships/provider`, related: `${self}/provider` },
      data: { type: 'ai-providers', id: provider.open },
    })
    expect(one.relationships?.['tools']).toEqual({
      links: { self: `${self}/relationships/tools`, related: `${self}/tools` },
    })
  })
})

describe('sorting and paging', () => {
  test('sorts by several keys, and gives equal values one order on all pages', async () => {
    await using svc = await startJsonApi()
    await svc.rows(`insert into ai_providers (provider_id, adapter, name)
      select 'p' || lpad(n::text, 2, '0'), 'demo', 'Name ' || (n % 3) from generate_series(1, 17) n`)

    const { list } = await svc.admin.get('/ai-providers?sort=-name,providerId')
    const byHand = list
      .map(({ attributes }) => [attributes['name'], attributes['providerId']] as [string, string])
      .toSorted(([a, x], [b, y]) => b.localeCompare(a) || x.localeCompare(y))

    expect(list.map(({ attributes }) => [attributes['name'], attributes['providerId']])).toEqual(byHand)
    const seen: string[] = []
    let next: string | null = `${base}/ai-providers?sort=name&page[size]=4`
    while (next) {
      const page = await svc.admin.get(next.slice(base.length))
      seen.push(...idsOf(page.list))
      next = page.links['next'] ?? null
    }
    expect(seen).toHaveLength(17)
    expect(new Set(seen).size).toBe(17)
  })

  test('leads from the last page to the first, with everything else of the query', async () => {
    await using svc = await startJsonApi()
    await addCatalogue(svc)

    const first = await svc.admin.get('/ai-models?page[size]=2&sort=-label&fields[ai-models]=label')
    const last = await svc.admin.get((first.links['last'] ?? '').slice(base.length))
    const prev = await svc.admin.get((last.links['prev'] ?? '').slice(base.length))

    expect(first.meta['page']).toEqual({ currentPage: 1, from: 1, to: 2, perPage: 2, lastPage: 3, total: 5 })
    expect(last.meta['page']).toEqual({ currentPage: 3, from: 5, to: 5, perPage: 2, lastPage: 3, total: 5 })
    expect(last.links['next']).toBeNull()
    expect(first.links['prev']).toBeNull()
    expect(Object.keys(prev.list[0]?.attributes ?? {})).toEqual(['label'])
    expect(prev.meta['page']).toMatchObject({ currentPage: 2 })
  })

  test('a page beyond the end is empty and leads back', async () => {
    await using svc = await startJsonApi()
    await addCatalogue(svc)

    const beyond = await svc.admin.get('/ai-models?page[number]=1000000&page[size]=1000')

    expect(beyond.status).toBe(200)
    expect(beyond.list).toEqual([])
    expect(beyond.meta['page']).toMatchObject({ from: 0, to: 0, total: 5, lastPage: 1 })
    expect(beyond.links['next']).toBeNull()
    expect((await svc.admin.get((beyond.links['first'] ?? '').slice(base.length))).list).toHaveLength(5)
  })
})

describe('a relation', () => {
  test('has a page of its own with order, filters and includes', async () => {
    await using svc = await startJsonApi()
    const { model, tool } = await addCatalogue(svc)

    const { list, included, meta, links } = await svc.admin.get(
      `/ai-models/${model.main}/tools?sort=-name&page[size]=2&filter[status]=active&include=server`,
    )

    expect(list.map(({ attributes }) => attributes['name'])).toEqual(['search', 'loose'])
    expect(meta['page']).toMatchObject({ total: 3, lastPage: 2 })
    expect(links['next']).toContain(`/ai-models/${model.main}/tools?`)
    expect(included.map(({ type }) => type)).toEqual(['mcp-servers'])
    const second = await svc.admin.get((links['next'] ?? '').slice(base.length))
    expect(idsOf(second.list)).toEqual([tool.fetch])
  })

  test('shows its links in pages, too', async () => {
    await using svc = await startJsonApi()
    const { model } = await addCatalogue(svc)

    const { list, links, meta } = await svc.admin.get(`/ai-models/${model.main}/relationships/tools?page[size]=3`)
    const one = await svc.admin.get(`/ai-models/${model.main}/relationships/provider`)

    expect(list).toHaveLength(3)
    for (const identifier of list) expect(Object.keys(identifier).toSorted()).toEqual(['id', 'type'])
    expect(links['next']).toContain('/relationships/tools?')
    expect(meta['page']).toMatchObject({ total: 4 })
    expect(Object.keys(one.one).toSorted()).toEqual(['id', 'type'])
  })

  test('that leads to one takes no page, no order and no filter', async () => {
    await using svc = await startJsonApi()
    const { model } = await addCatalogue(svc)

    const refused = await svc.admin.get(`/ai-models/${model.main}/provider?sort=name&page[size]=1&filter[name]=a`)

    expect(refused.status).toBe(400)
    expect(refused.errors.map(({ source }) => source?.['parameter'])).toEqual(['filter[name]', 'page[size]', 'sort'])
  })

  test('of a missing row is not there', async () => {
    await using svc = await startJsonApi()
    for (const id of ['999999', '0', '-1', 'abc', '1e3', '99999999999999999999', '%00', 'ä']) {
      for (const relation of ['tools', 'provider', 'relationships/tools', 'relationships/provider']) {
        const path = `/ai-models/${id}/${relation}`
        const { status, errors } = await svc.admin.get(path)
        expect([path, status, errors[0]?.code]).toEqual([path, 404, 'not_found'])
      }
    }
  })

  test('that leads nowhere for the caller is null', async () => {
    await using svc = await startJsonApi()
    const { tool } = await addCatalogue(svc)

    const related = await svc.ada.get(`/ai-tools/${tool.search}/server`)
    const link = await svc.ada.get(`/ai-tools/${tool.search}/relationships/server`)

    expect([related.status, link.status]).toEqual([200, 200])
    expect(JSON.parse(related.text).data).toBeNull()
    expect(JSON.parse(link.text).data).toBeNull()
  })

  test('that is only read refuses writes: who has not signed in first, then everybody', async () => {
    await using svc = await startJsonApi()
    const { model } = await addCatalogue(svc)
    for (const method of ['POST', 'PATCH', 'DELETE']) {
      const path = `/ai-models/${model.main}/relationships/tools`
      const guest = await svc.guest.send(method, path, toMany('ai-tools', []))
      const admin = await svc.admin.send(method, path, toMany('ai-tools', []))
      expect([guest.status, admin.status, admin.errors[0]?.code]).toEqual([401, 403, 'read_only'])
    }
  })

  test('is changed as a whole or not at all, and shows what it became', async () => {
    await using svc = await startJsonApi()
    const { model, tool } = await addCatalogue(svc)
    const path = `/ai-tools/${tool.loose}/relationships/models`

    const missing = await svc.admin.post(path, toMany('ai-models', [model.external, 999999]))
    const wrong = await svc.admin.post(path, { data: [to('ai-models', model.external).data, to('users', 1).data] })
    const added = await svc.admin.post(path, toMany('ai-models', [model.external, model.main, model.external]))
    const again = await svc.admin.post(path, toMany('ai-models', [model.external]))
    const absent = await svc.admin.delete(path, toMany('ai-models', [model.inactive]))
    const replaced = await svc.admin.patch(path, toMany('ai-models', [model.inactive]))
    const emptied = await svc.admin.patch(path, { data: [] })

    expect(missing.status).toBe(404)
    expect([wrong.status, pointersOf(wrong)]).toEqual([409, ['/data/1/type']])
    expect(idsOf(added.list)).toEqual([model.external, model.main])
    expect(idsOf(again.list)).toEqual([model.external, model.main])
    expect(idsOf(absent.list)).toEqual([model.external, model.main])
    expect(idsOf(replaced.list)).toEqual([model.inactive])
    expect(emptied.list).toEqual([])
    for (const { meta } of [added, again, absent, replaced, emptied]) expect(meta['_svc_sync_log']).toEqual([])
  })

  test('is changed by many at once without anybody waiting for ever, and the last replacement stands', async () => {
    await using svc = await startJsonApi({ DATABASE_POOL: '3' })
    const { model, tool } = await addCatalogue(svc)
    const models = Object.values(model)
    const path = `/ai-tools/${tool.loose}/relationships/models`

    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, index) =>
        index % 2
          ? svc.admin.patch(path, toMany('ai-models', [models[index % 5]!]))
          : svc.admin.update(
              'ai-models',
              models[index % 5]!,
              { label: `Label ${index}` },
              { tools: toMany('ai-tools', [tool.search]) },
            ),
      ),
    )

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    const left = await svc.rows('select model_id from ai_model_tools where tool_id = $1', [tool.loose])
    expect(left.length).toBeLessThanOrEqual(1)
  })
})

describe('addresses and methods', () => {
  test('every address refuses every method it does not have, and says which it has, whatever the body is', async () => {
    await using svc = await startJsonApi()
    const headers = { ...bearer(svc.people.admin.token), 'content-type': 'text/plain' }
    for (const [url, routes] of Map.groupBy(routesOf(appRouter), ({ url }) => url)) {
      const allowed = routes.flatMap(({ method }): string[] => (method === 'GET' ? ['GET', 'HEAD'] : [method]))
      const others = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'].filter(
        (name) => !allowed.includes(name),
      )
      for (const method of others) {
        const path = url.replace(':id', '1')
        const { status, headers: answered } = await raw(svc.url, { method, path, headers, body: 'no document' })
        expect([method, path, status]).toEqual([method, path, 405])
        expect(String(answered['allow']).split(', ').toSorted()).toEqual(allowed.toSorted())
        expect(answered['content-type']).toBe(mediaType)
      }
    }
  })

  test('HEAD says what GET would, without the body', async () => {
    await using svc = await startJsonApi()
    await addCatalogue(svc)
    const headers = bearer(svc.people.ada.token)

    const get = await raw(svc.url, { method: 'GET', path: '/ai-models?include=provider', headers })
    const head = await raw(svc.url, { method: 'HEAD', path: '/ai-models?include=provider', headers })
    const missing = await raw(svc.url, { method: 'HEAD', path: '/ai-models/99999', headers })

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
    '/ai-models/',
    '/ai-models/1/',
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
    await using svc = await startJsonApi()
    const headers = bearer(svc.people.admin.token)
    for (const path of nowhere) {
      const get = await raw(svc.url, { method: 'GET', path, headers })
      const post = await raw(svc.url, {
        method: 'POST',
        path,
        headers: { ...headers, 'content-type': 'text/plain' },
        body: 'x',
      })

      expect([path, get.status]).toEqual([path, 404])
      // What cannot be an id stands at an address that has other methods.
      expect([404, 405]).toContain(post.status)
      for (const { headers, text } of [get, post]) {
        expect(headers['content-type']).toBe(mediaType)
        expect(JSON.parse(text).errors[0].meta.requestId).toBe(headers['x-request-id'])
      }
    }
  })

  test('an id may be percent-encoded', async () => {
    await using svc = await startJsonApi()
    const { model } = await addCatalogue(svc)
    const encoded = [...model.external].map((digit) => `%3${digit}`).join('')

    expect((await svc.ada.get(`/ai-models/${encoded}`)).one.id).toBe(model.external)
    expect((await svc.ada.get('/ai-model-flags/open%2Dweights')).one.id).toBe('open-weights')
    expect((await svc.ada.get('/translation-labels/en%5FUS')).one.id).toBe('en_US')
  })
})

describe('a body', () => {
  const create = { data: { type: 'ai-providers', attributes: { providerId: 'p', name: 'P', adapter: 'demo' } } }

  const refusedBodies = [
    ['no JSON', '{"data":', 422, ['']],
    ['nothing', '', 422, ['']],
    ['a list', '[]', 422, ['']],
    ['null', 'null', 422, ['']],
    ['a text', '"data"', 422, ['']],
    ['no data', '{}', 422, ['']],
    ['data that is a list', '{"data":[]}', 422, ['/data']],
    ['no type', '{"data":{"attributes":{}}}', 422, ['/data']],
    ['a type that is no text', '{"data":{"type":7}}', 422, ['/data/type']],
    ['attributes that are a list', '{"data":{"type":"ai-providers","attributes":[]}}', 422, ['/data/attributes']],
    ['another type', '{"data":{"type":"users"}}', 409, ['/data/type']],
    ['an id', '{"data":{"type":"ai-providers","id":"7"}}', 403, ['/data/id']],
    [
      'an unknown relation',
      '{"data":{"type":"ai-providers","relationships":{"constructor":{"data":null}}}}',
      422,
      ['/data/relationships/constructor'],
    ],
    [
      'a relation of others',
      '{"data":{"type":"ai-providers","attributes":{"providerId":"p","name":"n","adapter":"demo"},"relationships":{"models":{"data":[]}}}}',
      403,
      ['/data/relationships/models/data'],
    ],
    [
      'a relation without data',
      '{"data":{"type":"ai-providers","relationships":{"models":{}}}}',
      422,
      ['/data/relationships/models'],
    ],
    ['a prototype', '{"data":{"type":"ai-providers","__proto__":{"type":"users"}}}', 422, ['']],
    ['too many levels', `{"data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 422, ['']],
  ] as const

  test('that is no document of its address is refused by what is wrong with it', async () => {
    await using svc = await startJsonApi()
    for (const [what, body, expected, pointers] of refusedBodies) {
      const { status, errors, headers } = await svc.admin.send('POST', '/ai-providers', body)

      expect([what, status]).toEqual([what, expected])
      expect([what, errors.map(({ source }) => source?.['pointer'] ?? '')]).toEqual([what, pointers])
      expect(headers.get('content-type')).toBe(mediaType)
    }
    expect(await svc.rows('select 1 from ai_providers')).toEqual([])
  })

  test('names every wrong attribute by a pointer that is there', async () => {
    await using svc = await startJsonApi()
    const attributes = {
      providerId: '',
      name: 7,
      adapter: 'none',
      settings: { timeouts: { total: -1, other: 1 } },
      constructor: 1,
      'a/b~c': 2,
    }

    const answer = await svc.admin.create('ai-providers', attributes)

    expect(answer.status).toBe(422)
    expect(pointersOf(answer).toSorted()).toEqual([
      '/data/attributes/adapter',
      '/data/attributes/a~1b~0c',
      '/data/attributes/constructor',
      '/data/attributes/name',
      '/data/attributes/providerId',
      '/data/attributes/settings/timeouts/other',
      '/data/attributes/settings/timeouts/total',
    ])
    expect(new Set(answer.errors.map(({ title }) => title))).toEqual(new Set(['An attribute is not valid.']))
    expect(answer.errors.every(({ detail, status }) => detail && status === '422')).toBe(true)
  })

  test('points at the nearest member that is there where one is missing', async () => {
    await using svc = await startJsonApi()

    const missing = await svc.admin.create('ai-models', { label: 'L' })

    expect(missing.status).toBe(422)
    expect(pointersOf(missing)).toEqual(['/data/attributes', '/data'])
  })

  test('may have members that nobody knows, and such with an @', async () => {
    await using svc = await startJsonApi()
    const { type, attributes } = create.data
    const body = {
      data: {
        type,
        attributes: { ...attributes, '@comment': 1 },
        lid: 'mine',
        '@type': 'x',
        other: [],
        meta: {},
        links: {},
      },
      meta: { a: 1 },
      extra: null,
      '@context': {},
    }

    const { status, one } = await svc.admin.post('/ai-providers', body)

    expect(status).toBe(201)
    expect(one.attributes).toMatchObject(attributes)
    expect(one).not.toHaveProperty('lid')
  })

  test('of a change names the row of its address', async () => {
    await using svc = await startJsonApi()
    const { provider } = await addCatalogue(svc)
    const patch = (data: object) => svc.admin.patch(`/ai-providers/${provider.open}`, { data })

    const missing = await patch({ type: 'ai-providers', attributes: { name: 'N' } })
    const other = await patch({ type: 'ai-providers', id: '999', attributes: { name: 'N' } })
    const wrong = await patch({ type: 'ai-models', id: provider.open, attributes: { name: 'N' } })

    expect([missing.status, pointersOf(missing)]).toEqual([422, ['/data']])
    expect([other.status, pointersOf(other)]).toEqual([409, ['/data/id']])
    expect([wrong.status, pointersOf(wrong)]).toEqual([409, ['/data/type']])
    expect((await svc.admin.get(`/ai-providers/${provider.open}`)).one.attributes['name']).toBe('open')
  })

  test('of a reading is not looked at', async () => {
    await using svc = await startJsonApi()
    const headers = { ...bearer(svc.people.ada.token), 'content-type': 'text/plain', 'content-length': '9' }

    const { status } = await raw(svc.url, { method: 'GET', path: '/ai-models', headers, body: 'no{json}!' })

    expect(status).toBe(200)
  })

  test('is not needed to delete, even where its type is named', async () => {
    await using svc = await startJsonApi()
    const { provider } = await addCatalogue(svc)

    const answer = await svc.admin.send('DELETE', `/ai-providers/${provider.off}`, undefined, {
      'content-type': mediaType,
    })

    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toEqual({ jsonapi: { version: '1.1' }, meta: { _svc_sync_log: [] } })
    expect((await svc.admin.get(`/ai-providers/${provider.off}`)).status).toBe(404)
  })

  test('with what cannot be kept is refused, and not by accident', async () => {
    await using svc = await startJsonApi()

    const nul = await svc.admin.create('ai-providers', { ...create.data.attributes, name: 'a\u0000b' })
    const half = await svc.admin.send(
      'POST',
      '/mcp-servers',
      '{"data":{"type":"mcp-servers","attributes":{"serverLabel":"s","url":"u","timeouts":{"connect":1},"description":"\\ud800"}}}',
    )
    const long = await svc.admin.create('mcp-servers', {
      serverLabel: 's',
      url: Array.from({ length: 1000 }, (_, index) => String.fromCodePoint(0x10400 + ((index * 7919) % 40_000))).join(
        '',
      ),
    })

    expect(nul.status).toBe(422)
    expect([201, 422]).toContain(half.status)
    expect(long.status).toBe(422)
  })
})

describe('a refusal', () => {
  test('of who has not signed in says how to', async () => {
    await using svc = await startJsonApi()
    for (const [method, path] of [
      ['GET', '/ai-models'],
      ['POST', '/ai-providers'],
      ['DELETE', '/ai-models/1'],
    ] as const) {
      const { status, headers, errors } = await svc.guest.send(method, path, method === 'POST' ? 'rubbish' : undefined)
      expect([status, headers.get('www-authenticate'), errors[0]?.code]).toEqual([401, 'Bearer', 'signed_out'])
    }
  })

  test('has one sentence per code', async () => {
    await using svc = await startJsonApi()
    const answers = await Promise.all([
      ...['/ai-models/1', '/ai-tools/2', '/nonsense'].map((path) => svc.ada.get(path)),
      ...['/ai-models?include=a', '/ai-tools?include=b', '/ai-models?sort=a', '/ai-models?page[size]=x'].map((path) =>
        svc.ada.get(path),
      ),
    ])

    const titles = Map.groupBy(
      answers.flatMap(({ errors }) => errors),
      ({ code }) => code,
    )
    for (const [code, errors] of titles)
      expect([code, new Set(errors.map(({ title }) => title)).size]).toEqual([code, 1])
  })

  test('by a failing server says nothing of its inside, and the log everything', async () => {
    await using svc = await startJsonApi()
    await svc.rows('drop table ai_model_descriptions cascade')

    const { status, text, headers, errors } = await svc.ada.get('/ai-model-descriptions')

    expect(status).toBe(500)
    expect(headers.get('content-type')).toBe(mediaType)
    expect(errors).toEqual([
      {
        status: '500',
        code: 'internal',
        title: 'Something went wrong on the server.',
        meta: { requestId: headers.get('x-request-id') },
      },
    ])
    expect(text).not.toMatch(/ai_model|relation|select|at /)
    expect(svc.log.join('')).toContain('42P01')
  })
})

test('every type and every relation has its addresses', () => {
  const urls = new Set(routesOf(appRouter).map(({ method, url }) => `${method} ${url}`))
  for (const { type, relations, table } of resources) {
    expect(urls, type).toContain(`GET /${type}/:id`)
    if (table) expect(urls, type).toContain(`GET /${type}`)
    for (const name of Object.keys(relations)) {
      expect(urls).toContain(`GET /${type}/:id/${name}`)
      for (const method of ['GET', 'POST', 'PATCH', 'DELETE'])
        expect(urls).toContain(`${method} /${type}/:id/relationships/${name}`)
    }
  }
})

test('every changing answer carries the sync log', async () => {
  await using svc = await startJsonApi()
  const created = await svc.admin.create('ai-providers', { providerId: 'p', name: 'P', adapter: 'demo' })
  const { id } = created.one
  const changed = await svc.admin.update('ai-providers', id, { name: 'Q' })
  const deleted = await svc.admin.delete(`/ai-providers/${id}`)

  expect([created.status, changed.status, deleted.status]).toEqual([201, 200, 200])
  expect(created.headers.get('location')).toBe(created.one.links['self'])
  for (const { meta } of [created, changed, deleted]) expect(meta).toEqual({ _svc_sync_log: [] })
})
