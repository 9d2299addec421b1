import { afterEach, describe, expect, test } from 'vitest'
import { addCatalogue, emptyCatalogue, idsOf, pointersOf, startJsonApi, toMany } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)
afterEach(() => emptyCatalogue(svc))

describe('tools', () => {
  test('people find active tools with their server and the models open to them', async () => {
    const { model, tool, server } = await addCatalogue(svc)
    for (const who of [svc.ada, svc.adminReading]) {
      const { list, included, total } = await who.get('/ai-tools?include=server,models')
      expect([idsOf(list), total]).toEqual([[tool.search, tool.fetch, tool.loose], 3])
      expect(list.map(({ relationships }) => relationships?.['server']?.data)).toEqual([
        null,
        { type: 'mcp-servers', id: server.up },
        { type: 'mcp-servers', id: server.down },
      ])
      const toModel = [{ type: 'ai-models', id: model.external }]
      expect(list.map(({ relationships }) => relationships?.['models']?.data)).toEqual([toModel, toModel, []])
      expect(included.map(({ type, id }) => `${type} ${id}`).sort()).toEqual(
        [`ai-models ${model.external}`, `mcp-servers ${server.up}`, `mcp-servers ${server.down}`].sort(),
      )
      for (const path of ['', '/server', '/models', '/relationships/server', '/relationships/models'])
        expect((await who.get(`/ai-tools/${tool.off}${path}`)).status).toBe(404)
      expect(idsOf((await who.get(`/ai-models/${model.external}/tools`)).list)).toEqual([tool.search, tool.fetch])
      expect(idsOf((await who.get(`/mcp-servers/${server.up}/tools`)).list)).toEqual([tool.fetch])
    }
    for (const path of ['', `/${tool.search}`, `/${tool.search}/models`, '?filter[assigned]=nonsense'])
      expect((await svc.guest.get(`/ai-tools${path}`)).status).toBe(401)
    expect(idsOf((await svc.admin.get('/ai-tools')).list)).toEqual(Object.values(tool))
  })

  test('tools show what concerns only administrators to them alone', async () => {
    const { tool } = await addCatalogue(svc)
    const { one } = await svc.ada.get(`/ai-tools/${tool.fetch}`)
    expect(one.attributes).toEqual({
      name: 'fetch',
      description: 'Does fetch.',
      capabilityKey: 'web_search',
      status: 'online',
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      updatedAt: expect.any(String),
    })
    const seen = await svc.admin.get(`/ai-tools/${tool.fetch}`)
    expect(seen.one.attributes).toMatchObject({
      active: true,
      toolType: 'mcp',
      serverCapabilityKey: 'web_search',
      mappedCapabilityKey: null,
    })
    // A sparse fieldset that names the hidden attribute does not reveal it.
    const read = await svc.ada.get(`/ai-tools/${tool.fetch}?fields[ai-tools]=active,name`)
    expect([read.status, read.one.attributes]).toEqual([200, { name: 'fetch' }])
  })

  test('tools are filtered by model and by state, each alone and both together', async () => {
    const { model, tool } = await addCatalogue(svc)
    await svc.rows('delete from ai_model_tools where tool_id = $1 and model_id = $2', [tool.fetch, model.external])
    const { search, fetch, loose, off } = tool
    const expectIds = async (who: typeof svc.ada, query: string, ids: string[]) => {
      const { status, list, total } = await who.get(`/ai-tools?${query}`)
      expect([query, status, idsOf(list ?? []), total]).toEqual([query, 200, ids, ids.length])
    }
    const all = [search, fetch, loose]
    await expectIds(svc.ada, `filter[assigned]=${model.external}`, [search])
    // Models that the caller may not see are treated like missing ones.
    for (const hidden of [model.main, model.inactive, model.orphan, model.innerOnly, '99999'])
      await expectIds(svc.ada, `filter[assigned]=${hidden}`, [])
    await expectIds(svc.ada, 'filter[assigned]=true', [search])
    expect((await svc.ada.get('/ai-tools?filter[assigned]=external')).errors[0]?.detail).toBe(
      "filter[assigned] must be a model's id, `true` for any model, or `false` for none.",
    )
    await expectIds(svc.ada, 'filter[assigned]=false', [fetch, loose])
    await expectIds(svc.ada, 'filter[status]=active', all)
    await expectIds(svc.ada, 'filter[status]=inactive', [])
    await expectIds(svc.ada, 'filter[status]=online', [search, fetch])
    await expectIds(svc.ada, 'filter[status]=offline', [loose])
    await expectIds(svc.ada, 'filter[status]=unknown', [])
    await expectIds(svc.ada, 'filter[status]=online&filter[assigned]=true', [search])
    await expectIds(svc.ada, 'filter[status]=online&filter[assigned]=false', [fetch])
    await expectIds(svc.ada, `filter[status]=offline&filter[assigned]=${model.external}`, [])
    await expectIds(svc.ada, `filter[assigned]=${model.external}&filter[status]=active&sort=-name`, [search])
    await expectIds(svc.admin, 'filter[status]=inactive', [off])
    await expectIds(svc.admin, `filter[assigned]=${model.main}`, [search, fetch, off, loose])
    await expectIds(svc.admin, `filter[assigned]=${model.main}&filter[status]=offline`, [loose])
    await expectIds(svc.admin, 'filter[assigned]=false', [])
    await svc.rows(`update mcp_servers set status = 'unknown'`)
    await expectIds(svc.ada, 'filter[status]=unknown', [fetch, loose])
    for (const path of [`/ai-models/${model.external}/tools`, `/ai-models/${model.external}/relationships/tools`])
      expect(idsOf((await svc.ada.get(`${path}?filter[status]=online`)).list)).toEqual([search])
  })

  test('tools know no other filter, and no other value', async () => {
    for (const [query, parameter] of [
      ['filter[assigned]=', 'filter[assigned]'],
      ['filter[assigned]=yes', 'filter[assigned]'],
      ['filter[assigned]=0', 'filter[assigned]'],
      ['filter[assigned]=1 or true', 'filter[assigned]'],
      ['filter[assigned]=1&filter[assigned]=2', 'filter[assigned]'],
      ['filter[assigned][]=1', 'filter[assigned][]'],
      ['filter[status]=', 'filter[status]'],
      ['filter[status]=Active', 'filter[status]'],
      ['filter[active]=true', 'filter[active]'],
      ['filter[name]=x', 'filter[name]'],
      ['filter[__proto__]=x', 'filter[__proto__]'],
    ]) {
      const { status, errors } = await svc.ada.get(`/ai-tools?${query}`)
      expect([query, status, errors[0]?.source]).toEqual([query, 400, { parameter }])
    }
  })

  test('no other type is filtered at all', async () => {
    const { model, provider, server } = await addCatalogue(svc)
    for (const path of [
      'ai-models',
      'ai-providers',
      'ai-model-descriptions',
      'ai-model-flags',
      'ai-tool-capabilities',
      'mcp-servers',
      'system-models',
      'system-prompts',
      'users',
      'configs',
      'configs/public',
      'translation-labels/en_US',
      'users/me',
      `ai-models/${model.external}`,
      `ai-models/${model.external}/provider`,
      `ai-providers/${provider.open}/models`,
      `mcp-servers/${server.up}/relationships/tools?sort=id&`,
    ].filter((path) => !path.includes('tools'))) {
      for (const filter of ['status', 'assigned', 'id']) {
        const { status, errors } = await svc.ada.get(`/${path}?filter[${filter}]=1`)
        expect([path, status, errors[0]?.source]).toEqual([path, 400, { parameter: `filter[${filter}]` }])
      }
    }
  })

  test('an administrator switches one off and says what it is good for', async () => {
    const { tool, model } = await addCatalogue(svc)
    const mapped = await svc.admin.update('ai-tools', tool.search, { mappedCapabilityKey: 'knowledge_base' })
    expect([mapped.status, mapped.meta]).toEqual([200, { _svc_sync_log: [] }])
    expect(mapped.one.attributes).toMatchObject({ capabilityKey: 'knowledge_base', serverCapabilityKey: 'web_search' })
    expect((await svc.ada.get(`/ai-tools/${tool.search}`)).one.attributes['capabilityKey']).toBe('knowledge_base')
    const reset = await svc.admin.update('ai-tools', tool.search, { mappedCapabilityKey: null, active: false })
    expect(reset.one.attributes).toMatchObject({ capabilityKey: 'web_search', active: false })
    expect((await svc.ada.get(`/ai-tools/${tool.search}`)).status).toBe(404)
    expect((await svc.ada.get(`/ai-models/${model.external}`)).one.attributes['toolIds']).toEqual([Number(tool.fetch)])

    for (const name of ['name', 'description', 'capabilityKey', 'status', 'toolType', 'server']) {
      const expectRefusal = await svc.admin.update('ai-tools', tool.search, { [name]: 'x' })
      const status = name === 'server' ? 422 : 403
      expect([expectRefusal.status, pointersOf(expectRefusal)]).toEqual([status, [`/data/attributes/${name}`]])
    }
    expect((await svc.admin.update('ai-tools', 99999, { active: true })).status).toBe(404)
    for (const [who, status] of [
      [svc.guest, 401],
      [svc.ada, 403],
      [svc.adminReading, 403],
    ] as const)
      expect((await who.update('ai-tools', tool.fetch, { active: false })).status).toBe(status)
    for (const [method, path] of [
      ['POST', '/ai-tools'],
      ['DELETE', `/ai-tools/${tool.search}`],
    ] as const) {
      const { status, headers } = await svc.admin.send(method, path, { data: {} })
      expect([status, headers.get('allow')?.includes(method)]).toEqual([405, false])
    }
  })
})

describe('the models of a tool', () => {
  test('the models of a tool are added, replaced and removed by an administrator', async () => {
    const { tool, model } = await addCatalogue(svc)
    const path = `/ai-tools/${tool.loose}/relationships/models`
    const change = async (method: string, ids: string[]) => {
      const { status, list, meta } = await svc.admin.send(method, path, toMany('ai-models', ids))
      expect([status, meta]).toEqual([200, { _svc_sync_log: [] }])
      expect(idsOf((await svc.admin.get(path)).list)).toEqual(idsOf(list))
      return idsOf(list)
    }
    const { main, external, orphan } = model
    expect(await change('POST', [external])).toEqual([external, main])
    // Adding an existing member and removing a missing one change nothing.
    expect(await change('POST', [external, external, main])).toEqual([external, main])
    expect(await change('DELETE', [orphan, '99999'])).toEqual([external, main])
    expect(await change('DELETE', [main, '99999'])).toEqual([external])
    expect(await change('PATCH', [main, orphan, main])).toEqual([main, orphan])
    expect(await change('PATCH', [])).toEqual([])
    expect(await change('POST', [])).toEqual([])
  })

  test("a change of a tool's models is announced for the tool and each model", async () => {
    const { tool, model } = await addCatalogue(svc)
    const path = `/ai-tools/${tool.loose}/relationships/models`
    const listChanges = async () =>
      (
        await svc.rows<{ change: string }>(
          `select kind || ' ' || subject as change from change_log where stream = 'all' order by seq`,
        )
      ).map(({ change }) => change)
    const announcedBy = async (method: string, ids: string[]) => {
      const before = await listChanges()
      await svc.admin.send(method, path, toMany('ai-models', ids))
      return (await listChanges()).slice(before.length).sort()
    }
    const own = `ai-tools.updated ${tool.loose}`
    const [main, external] = [`ai-models.updated ${model.main}`, `ai-models.updated ${model.external}`]

    expect(await announcedBy('POST', [model.external])).toEqual([external, own])
    expect(await announcedBy('DELETE', [model.external, '99999'])).toEqual([external, own])
    expect(await announcedBy('PATCH', [model.external])).toEqual([main, external, own].sort())
  })

  test('change as a whole or not at all', async () => {
    const { tool, model } = await addCatalogue(svc)
    const path = `/ai-tools/${tool.loose}/relationships/models`
    const refused = async (method: string, body: unknown, at = path) => {
      const answer = await svc.admin.send(method, at, body)
      return [answer.status, pointersOf(answer)[0]]
    }
    const both = toMany('ai-models', [model.external, '99999'])
    expect(await refused('POST', both)).toEqual([404, '/data/1/id'])
    expect(await refused('PATCH', both)).toEqual([404, '/data/1/id'])
    expect(await refused('POST', toMany('ai-models', [model.external, 'abc']))).toEqual([422, '/data/1/id'])
    expect(
      await refused('PATCH', {
        data: [
          { type: 'ai-models', id: model.external },
          { type: 'users', id: '1' },
        ],
      }),
    ).toEqual([409, '/data/1/type'])
    expect(await refused('PATCH', { data: null })).toEqual([422, '/data'])
    expect(await refused('PATCH', { data: { type: 'ai-models', id: model.external } })).toEqual([422, '/data'])
    expect(await refused('PATCH', {})).toEqual([422, ''])
    expect(await refused('PATCH', '{"data": [')).toEqual([422, undefined])
    expect(
      await refused('POST', toMany('ai-models', [model.external]), '/ai-tools/99999/relationships/models'),
    ).toEqual([404, undefined])
    expect(await refused('POST', toMany('ai-models', [model.external]), `${path}?sort=id`)).toEqual([400, undefined])
    expect(idsOf((await svc.admin.get(path)).list)).toEqual([model.main])
  })

  test('the models of a tool are changed only by administrators, its server never', async () => {
    const { tool, model } = await addCatalogue(svc)
    for (const method of ['POST', 'PATCH', 'DELETE']) {
      for (const [who, status] of [
        [svc.guest, 401],
        [svc.ada, 403],
        [svc.adminReading, 403],
      ] as const)
        for (const body of [toMany('ai-models', [model.external]), { data: null }, '{"broken'])
          expect((await who.send(method, `/ai-tools/${tool.search}/relationships/models`, body)).status).toBe(status)
      const server = await svc.admin.send(method, `/ai-tools/${tool.search}/relationships/server`, { data: null })
      expect([server.status, server.errors[0]?.code]).toEqual([403, 'read_only'])
    }
    expect((await svc.admin.get(`/ai-tools/${tool.search}/models`)).total).toBe(5)
  })
})
