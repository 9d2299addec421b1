// @module-tag debian

import { randomBytes } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { buildModel, buildProvider, readActive, startWithConfig } from '../kit/ai/model-config.ts'
import { writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'
import { cloneDatabase } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { emptyCatalogue } from '../kit/json-api/client.ts'
import { openPusher } from '../kit/realtime/pusher.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(() => startWithConfig({ providers: [] }))
afterEach(() => emptyCatalogue(app.svc))

const externals = async (svc: TestApp) =>
  (
    await svc.rows<{ id: string }>(
      `select m.model_id as id from ai_models m join ai_model_usage_rules r on r.model_id = m.id
        where usage_type = 'external' order by 1`,
    )
  ).map(({ id }) => id)

test('a synchronisation writes providers, models, rules and tasks, and nothing when unchanged', async () => {
  const config = {
    providers: [buildProvider('p', [buildModel('a'), buildModel('b', { external: false })], { apiKey: 'secret' })],
    systemModels: { default: 'a' },
    systemModelsExternal: { default: 'b' },
  }
  await app.sync(config)
  const look = async () => [
    await app.svc.rows('select * from ai_providers order by id'),
    await app.svc.rows('select * from ai_models order by id'),
    await app.svc.rows('select * from system_models order by id'),
    await app.svc.rows('select * from ai_model_usage_rules order by 1, 2'),
  ]
  const before = await look()

  expect(await app.sync(config)).toEqual({ providers: 1, models: 2, tools: 0, deactivated: [] })

  expect(await look()).toEqual(before)
  expect(await externals(app.svc)).toEqual(['a'])
  expect(
    await app.svc.rows(
      'select usage_type, m.model_id from system_models s join ai_models m on m.id = s.model_id order by 1',
    ),
  ).toEqual([
    { usage_type: 'external', model_id: 'b' },
    { usage_type: 'main', model_id: 'a' },
  ])
})

test('a synchronisation follows the file', async () => {
  await app.sync({ providers: [buildProvider('p', [buildModel('a', { descriptions: { en_US: 'Old' } })])] })

  await app.sync({
    providers: [
      buildProvider(
        'p',
        [buildModel('a', { label: 'New', external: false, descriptions: { en_US: 'New', de_DE: 'Neu' } })],
        {
          name: 'Other',
          apiUrl: 'http://127.0.0.1:8/v1',
        },
      ),
    ],
  })

  expect(await app.svc.rows('select label from ai_models')).toEqual([{ label: 'New' }])
  expect(await app.svc.rows('select name, api_url from ai_providers')).toEqual([
    { name: 'Other', api_url: 'http://127.0.0.1:8/v1' },
  ])
  expect(await externals(app.svc)).toEqual([])
  expect(await app.svc.rows('select locale, description from ai_model_descriptions order by 1')).toEqual([
    { locale: 'de_DE', description: 'Neu' },
    { locale: 'en_US', description: 'New' },
  ])
})

test('a synchronisation leaves what an administrator changed, and goes on with the rest', async () => {
  await app.sync({
    providers: [
      buildProvider('p', [buildModel('a', { descriptions: { en_US: 'Old' } }), buildModel('b')], { apiKey: 'first' }),
    ],
    systemModels: { default: 'a', summary: 'a' },
  })
  const { svc } = app
  await svc.rows(`update ai_providers set name = 'Mine', api_url = 'http://127.0.0.1:7/v1'`)
  await svc.rows(`update ai_models set label = 'Mine', limits = '{"maxInputTokens": 5}' where model_id = 'a'`)
  await svc.rows(`update ai_model_descriptions set description = 'Mine'`)
  await svc.rows(`delete from ai_model_usage_rules where usage_type = 'external'`)
  await svc.rows(
    `update system_models set model_id = (select id from ai_models where model_id = 'b') where model_type = 'default'`,
  )

  await app.sync({
    providers: [
      buildProvider(
        'p',
        [
          buildModel('a', {
            label: 'File',
            limits: { maxInputTokens: 9 },
            flags: ['beta'],
            descriptions: { en_US: 'File' },
          }),
          buildModel('b', { label: 'File' }),
        ],
        { apiKey: 'second', name: 'File', apiUrl: 'http://127.0.0.1:6/v1' },
      ),
    ],
    systemModels: { default: 'a', summary: 'b' },
  })

  expect(await svc.rows('select name, api_url from ai_providers')).toEqual([
    { name: 'Mine', api_url: 'http://127.0.0.1:7/v1' },
  ])
  expect(await svc.rows('select label, limits, flags from ai_models order by model_id')).toEqual([
    { label: 'Mine', limits: { maxInputTokens: 5 }, flags: ['beta'] },
    { label: 'File', limits: null, flags: [] },
  ])
  expect(await svc.rows('select description from ai_model_descriptions')).toEqual([{ description: 'Mine' }])
  expect(await externals(svc)).toEqual([])
  const tasks = 'select s.model_type, m.model_id from system_models s join ai_models m on m.id = s.model_id order by 1'
  expect(await svc.rows(tasks)).toEqual([
    { model_type: 'default', model_id: 'b' },
    { model_type: 'summary', model_id: 'b' },
  ])
})

test("a synchronisation takes models' settings from the file except those an administrator changed", async () => {
  const file = (settings?: object) => ({
    providers: [buildProvider('p', [buildModel('a', { settings }), buildModel('b', { settings })])],
  })
  await app.sync(file({ toolCalling: true, maxToolCallingRounds: 3 }))
  const settingsOf = async () =>
    (await app.svc.rows<{ settings: unknown }>('select settings from ai_models order by model_id')).map(
      ({ settings }) => settings,
    )
  expect(await settingsOf()).toEqual(Array(2).fill({ toolCalling: true, maxToolCallingRounds: 3 }))

  await app.svc.rows(`update ai_models set settings = '{"fileUpload": true}' where model_id = 'a'`)
  await app.sync(file({ toolCalling: false }))
  expect(await settingsOf()).toEqual([{ fileUpload: true }, { toolCalling: false }])
  await app.sync(file())
  expect(await settingsOf()).toEqual([{ fileUpload: true }, null])
})

test('a synchronisation takes settings of a model that the last one did not know', async () => {
  const file = (settings?: object) => ({ providers: [buildProvider('p', [buildModel('a', { settings })])] })
  await app.sync(file())
  await app.svc.rows(`update ai_models set synced = synced - 'settings'`)

  await app.sync(file({ toolCalling: true }))

  expect(await app.svc.rows('select settings from ai_models')).toEqual([{ settings: { toolCalling: true } }])
})

test('a synchronisation takes a redirect that the last one did not know', async () => {
  const models = (redirect: boolean) => ['a', 'b'].map((id) => buildModel(id, { redirect, successor: 'c' }))
  const file = (redirect: boolean) => ({ providers: [buildProvider('p', [...models(redirect), buildModel('c')])] })
  await app.sync(file(true))
  await app.svc.rows('update ai_models set redirect = false')
  await app.svc.rows(`update ai_models set synced = synced - 'redirect' where model_id = 'a'`)

  await app.sync(file(true))

  const found = await app.svc.rows('select model_id, redirect from ai_models order by 1 limit 2')
  expect(found).toEqual([
    { model_id: 'a', redirect: true },
    { model_id: 'b', redirect: false },
  ])
})

test('a synchronisation switches models off and on as the file drops and regains them', async () => {
  const whole = {
    providers: [buildProvider('p', [buildModel('a'), buildModel('b')]), buildProvider('q', [buildModel('c')])],
    systemModels: { default: 'c', summary: 'a' },
  }
  await app.sync(whole)

  const { deactivated } = await app.sync({
    providers: [buildProvider('p', [buildModel('a')])],
    systemModels: { summary: 'a' },
  })

  expect(deactivated.toSorted()).toEqual(['b', 'c', 'q'])
  expect(await readActive(app.svc)).toEqual({ a: true, b: false, c: false })
  expect(await readActive(app.svc, 'ai_providers')).toEqual({ p: true, q: false })
  expect(await app.svc.rows('select model_type from system_models')).toEqual([{ model_type: 'summary' }])

  await app.sync(whole)

  expect(await readActive(app.svc)).toEqual({ a: true, b: true, c: true })
  expect(await readActive(app.svc, 'ai_providers')).toEqual({ p: true, q: true })
  expect(await app.svc.rows('select model_type from system_models')).toHaveLength(2)
})

test('a synchronisation never switches against an administrator', async () => {
  const whole = { providers: [buildProvider('p', [buildModel('a'), buildModel('b')])] }
  const less = { providers: [buildProvider('p', [buildModel('a')])] }
  await app.sync(whole)
  await app.svc.rows(`update ai_models set active = false where model_id = 'b'`)

  await app.sync(whole)
  expect(await readActive(app.svc)).toEqual({ a: true, b: false })
  await app.sync(less)
  await app.sync(whole)
  expect(await readActive(app.svc)).toEqual({ a: true, b: false })

  await app.svc.rows(`update ai_models set active = true where model_id = 'b'`)
  await app.sync(less)
  expect(await readActive(app.svc)).toEqual({ a: true, b: false })
  await app.svc.rows(`update ai_models set active = true where model_id = 'b'`)
  await app.sync(less)
  expect(await readActive(app.svc)).toEqual({ a: true, b: true })
})

test('a synchronisation leaves alone what an administrator made', async () => {
  await app.sync({ providers: [buildProvider('p', [buildModel('a')])] })
  await app.svc.rows(`insert into ai_providers (provider_id, adapter, name) values ('own', 'demo', 'Own')`)
  await app.svc.rows(
    `insert into ai_models (provider_id, model_id, label) select id, 'own', 'Own' from ai_providers where provider_id = 'own'`,
  )

  const { deactivated } = await app.sync({ providers: [] })

  expect(deactivated.toSorted()).toEqual(['a', 'p'])
  expect(await readActive(app.svc)).toEqual({ a: false, own: true })
})

test('a synchronisation and a check of providers that are away lose nothing', async () => {
  const config = {
    providers: [buildProvider('away', [buildModel('a')], { apiUrl: `http://127.0.0.1:${await findFreePort()}/v1` })],
  }
  await app.sync(config)

  expect((await app.sync(config)).deactivated).toEqual([])
  expect(await app.svc.host.models.check()).toEqual([
    { modelId: 'a', provider: 'away', status: 'unknown', demand: 'low' },
  ])
  expect(app.svc.log.find((line) => line.includes('did not answer the status check'))).toContain('ECONNREFUSED')
  expect(await readActive(app.svc)).toEqual({ a: true })
  expect(await externals(app.svc)).toEqual(['a'])
})

test('a synchronisation by command reaches a running service, each row exactly once', async () => {
  const toolModel = buildModel('tooled', { tools: ['weather'] })
  const named = ['same', 'told', 'renamed', 'moved', 'gone', 'by-hand'].map((id) => buildModel(id))
  const kept = buildProvider('kept', [...named, toolModel])
  const server = { label: 'Search', url: 'http://127.0.0.1:9/mcp' }
  const covered = [buildModel('covered'), buildModel('never-shown', { active: false })]
  const left = buildProvider('left', [buildModel('left')])
  const before = { providers: [kept, buildProvider('off', covered), left], mcpServers: [server] }
  await using app = await startWithConfig(before, { EXTENSIONS: 'test/fixtures/extension.ts' })
  const { svc } = app
  await svc.rows(`update ai_models set label = 'Mine' where model_id = 'by-hand'`)
  const { token } = await svc.user()
  using client = openPusher(svc.url, { token })
  await client.subscribe('private-AllUsers')
  const toolIds = (await svc.rows<{ id: number }>('select id from ai_tools')).map(({ id }) => id)
  // The command runs without the extension, so its functions are missing.
  const sync = (providers: object[]) => {
    const env = { AI_CONFIG: app.file, DATABASE_URL: String(svc.env.DATABASE_URL), DATA_DIR: svc.folder }
    return app.write({ providers }).then(() => runCommand(['models', 'sync'], { env }))
  }
  const readChanges = () =>
    client.dataOf('change').map((change) => {
      const { kind, subject } = change as { kind: string; subject: string }
      return `${kind} ${subject}`
    })
  const idOf = async (modelId: string) =>
    (await svc.rows<{ id: number }>('select id from ai_models where model_id = $1', [modelId]))[0]?.id

  const other = { label: 'Other' }
  const models = [
    buildModel('same'),
    buildModel('told', { external: false }),
    buildModel('renamed', other),
    buildModel('by-hand', other),
  ]
  expect(
    await sync([
      buildProvider('kept', [...models, buildModel('new'), toolModel]),
      buildProvider('off', covered, { active: false }),
      buildProvider('added', [buildModel('moved')]),
    ]),
  ).toMatchObject({ exitCode: 0 })

  await client.until('change', 15)
  expect(readChanges().toSorted()).toEqual(
    [
      `ai-models.created ${await idOf('new')}`,
      `ai-models.updated ${await idOf('covered')}`,
      `ai-models.updated ${await idOf('gone')}`,
      `ai-models.updated ${await idOf('left')}`,
      `ai-models.updated ${await idOf('moved')}`,
      `ai-models.updated ${await idOf('renamed')}`,
      `ai-models.updated ${await idOf('told')}`,
      `ai-models.updated ${await idOf('tooled')}`,
      'ai-providers.created 4',
      'ai-providers.updated 2',
      'ai-providers.updated 3',
      ...toolIds.map((id) => `ai-tools.deleted ${id}`),
      'mcp-servers.deleted 1',
    ].toSorted(),
  )
  const shown = (await (await svc.send('GET', '/api/svc/v1/ai-models', { token })).json()) as {
    data: { attributes: { modelId: string; label: string } }[]
  }
  expect(shown.data.map(({ attributes: { modelId, label } }) => `${modelId}: ${label}`)).toEqual([
    'same: same',
    'renamed: Other',
    'moved: moved',
    'by-hand: Mine',
    'tooled: tooled',
    'new: new',
  ])
})

test('a synchronisation takes turns on replicas that start together', async () => {
  await using database = await cloneDatabase()
  await using config = await writeConfig('http://127.0.0.1:9/v1')
  const shared = { DATABASE_URL: database.url, AI_CONFIG: config.file, APP_KEY: randomBytes(32).toString('base64') }

  const replicas = await Promise.all([startApp(shared), startApp(shared), startApp(shared)])

  try {
    expect(await replicas[0]?.rows('select model_id from ai_models')).toEqual([{ model_id: 'mock-1' }])
  } finally {
    await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()))
  }
})

test('dangling names in files are warnings, and keep nothing from starting', async () => {
  await using database = await cloneDatabase()
  await using limits = await writeConfig('')
  await limits.write({
    limits: ['model:a', 'model:gone', 'group:staff', 'provider:q'].map((target) => ({
      name: target.replace(':', ' '),
      for: target,
      cap: 1,
      unit: 'requests',
      per: 'day',
    })),
  })
  const named = {
    tools: ['library_serch'],
    flags: ['eco-freindly', 'self-hosted'],
    nativeCapabilities: ['web_search', 'web_sarch'],
  }
  await using site = await startWithConfig(
    { providers: [buildProvider('p', [buildModel('a', named)])] },
    { DATABASE_URL: database.url, LIMITS: limits.file },
  )
  const expected = [
    ['the model a', 'tool', 'library_serch'],
    ['the model a', 'flag', 'eco-freindly'],
    ['the model a', 'capability', 'web_sarch'],
    ['the limit model gone', 'model', 'gone'],
    ['the limit group staff', 'group', 'staff'],
    ['the limit provider q', 'provider', 'q'],
  ] as const
  const warning = site.svc.log.map((line) => JSON.parse(line)).find(({ msg }) => msg.includes('lead to nothing'))
  const env = { AI_CONFIG: site.file, LIMITS: limits.file, DATABASE_URL: database.url, DATA_DIR: site.svc.folder }
  const checked = await runCommand(['models', 'check'], { env })

  expect(warning).toMatchObject({ level: 40, names: expected.map(([by, kind, name]) => ({ by, kind, name })) })
  expect(checked.exitCode).toBe(0)
  for (const [by, kind, name] of expected)
    expect(checked.stderr).toContain(`${by} names the ${kind} ${name}, which is not here.`)
})
