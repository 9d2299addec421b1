import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { freePort } from '../kit/free-port.ts'
import { answers, configFor, question, refuses, startProvider } from '../kit/provider.ts'

const model = (id: string, more: object = {}) => ({ id, label: id, external: true, ...more })
const provider = (id: string, models: object[], more: object = {}) => ({
  id,
  adapter: 'openai-compatible',
  apiUrl: 'http://127.0.0.1:9/v1',
  models,
  ...more,
})

/** A service whose configuration is written anew with each synchronisation. */
async function startWith(config: object, settings: Record<string, string> = {}) {
  await using resources = new AsyncDisposableStack()
  const file = resources.use(await configFor(''))
  await file.write(config)
  const svc = resources.use(await startApp({ AI_CONFIG: file.file, ...settings }))
  const kept = resources.move()
  return {
    svc,
    file: file.file,
    async sync(changed: object) {
      await file.write(changed)
      return svc.host.models.sync()
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

const activeOf = async (svc: TestApp, table: 'ai_models' | 'ai_providers' = 'ai_models') => {
  const name = table === 'ai_models' ? 'model_id' : 'provider_id'
  const rows = await svc.rows<{ name: string; active: boolean }>(`select ${name} as name, active from ${table}`)
  return Object.fromEntries(rows.map(({ name, active }) => [name, active]))
}

const externals = async (svc: TestApp) =>
  (
    await svc.rows<{ id: string }>(
      `select m.model_id as id from ai_models m join ai_model_usage_rules r on r.model_id = m.id
        where usage_type = 'external' order by 1`,
    )
  ).map(({ id }) => id)

describe('the configuration of models', () => {
  test('may be YAML, with secrets from the environment', async () => {
    await using upstream = await startProvider(answers('From YAML.'))
    await using config = await configFor('')
    await writeFile(
      config.file,
      `
providers:
  - id: local
    adapter: openai-compatible
    apiUrl: ${upstream.url}/chat/completions
    apiKey: \${LOCAL_KEY}
    timeouts: {connect: 5s, firstByte: 60s, total: 300s}
    models:
      - {id: mock-1, label: Mock 1, input: [text], output: [text], external: true,
         limits: {maxInputTokens: 128000}, pricing: {currency: EUR, inputPerMillion: 0.4, outputPerMillion: 1.6}}
systemModels: {default: mock-1}
`,
    )
    await using svc = await startApp({ AI_CONFIG: config.file, LOCAL_KEY: 'key-from-the-environment' })
    const { token } = await svc.user()

    const response = await svc.send('POST', '/api/ai-req', { token, body: question() })

    expect(await response.json()).toEqual({ success: true, content: { text: 'From YAML.' } })
    expect(upstream.asked[0]).toMatchObject({
      path: '/v1/chat/completions',
      headers: { authorization: 'Bearer key-from-the-environment' },
    })
    const [row] = await svc.rows('select settings, api_url from ai_providers')
    expect(row).toEqual({
      settings: { timeouts: { connect: 5000, firstByte: 60_000, total: 300_000 } },
      api_url: upstream.url,
    })
  })

  const lines = ['providers:', '  - id: local', '    adapter: openai-compatible', '    apiUrl: http://127.0.0.1:9/v1']
  const yaml = (...more: string[]) => [...lines, ...more].join('\n')

  test.for<[string, string, string[]]>([
    ['an unknown key', yaml('    modls: []'), ['line 2', 'providers.0', 'modls']],
    [
      'a secret that is not there',
      yaml(`    apiKey: "\${NOT_THERE}"`),
      [`\${NOT_THERE} is not set in the environment`],
    ],
    ['an unknown adapter', 'providers:\n  - id: a\n    adapter: telepathy', ['line 3, providers.0.adapter']],
    [
      'no address',
      'providers:\n  - id: a\n    adapter: openai-compatible',
      ['line 2, providers.0.apiUrl', 'needs its address'],
    ],
    ['another kind of address', yaml().replace('http:', 'ftp:'), ['line 4, providers.0.apiUrl']],
    [
      'a price in no currency',
      yaml('    models:', '      - {id: a, pricing: {currency: euro, inputPerMillion: 1, outputPerMillion: 1}}'),
      ['line 6, providers.0.models.0.pricing.currency'],
    ],
    ['a time that is none', yaml('    timeouts: {connect: soon}'), ['line 5, providers.0.timeouts.connect', "'soon'"]],
    [
      'a time limit of more than a day',
      yaml('    timeouts: {total: 25h}'),
      ['line 5, providers.0.timeouts.total', 'must be at most 24h'],
    ],
    [
      'a time limit that no timer could count',
      yaml('    circuit: {openFor: 2147483648}'),
      ['line 5, providers.0.circuit.openFor', 'must be at most 24h'],
    ],
    [
      'settings of a model that are none',
      yaml('    models:', '      - {id: a, settings: {toolCalling: sometimes, tools: true}}'),
      ['line 6, providers.0.models.0.settings.toolCalling', 'providers.0.models.0.settings', 'tools'],
    ],
    [
      'two providers of one name',
      `${yaml()}\n${lines.slice(1).join('\n')}`,
      ['line 2', 'two providers with the id local'],
    ],
    ['two models of one name', yaml('    models:', '      - id: a', '      - id: a'), ['two models with the id a']],
    [
      'a task for a model that is not there',
      `${yaml()}\nsystemModels: {default: ghost}`,
      ['line 5, systemModels.default', 'ghost'],
    ],
    ['an unknown task', `${yaml()}\nsystemModels: {dreaming: x}`, ['line 5', 'dreaming']],
    ['bad YAML', yaml('   broken: [', 'x'), ['line']],
    ['a key that is there twice', yaml('    adapter: demo'), ['unique', 'line 5']],
    ['bad JSON', '{"providers": [,]}', ['line 1']],
    ['nothing', '', ['the file']],
    ['a text', 'hello', ['the file']],
  ])('is refused with line and path for %s', async ([, text, words]) => {
    await using app = await startWith({ providers: [provider('p', [model('a')])] })
    await writeFile(app.file, text)

    const error = await app.svc.host.models.sync().then(
      () => new Error('was taken'),
      (thrown: Error) => thrown,
    )

    for (const word of words) expect(error.message).toContain(word)
    expect(error.message).toContain(app.file)
    expect(await activeOf(app.svc)).toEqual({ a: true })
  })

  test('lists everything that is wrong at once', async () => {
    await using app = await startWith({ providers: [] })
    const wrong = { providers: [{ id: '', adapter: 'x' }, provider('p', [{ id: 1 }], { apiKey: `\${GONE}` })], more: 1 }

    const refused = app.sync(wrong)

    await expect(refused).rejects.toThrow(/providers\.0\.adapter/)
    await expect(refused).rejects.toThrow(/providers\.1\.models\.0\.id/)
    await expect(refused).rejects.toThrow(/GONE/)
    await expect(refused).rejects.toThrow(/more/)
  })

  test('that is not there stops the start', async () => {
    await using database = await cloneDatabase()

    await expect(startApp({ DATABASE_URL: database.url, AI_CONFIG: '/nowhere/ai.yaml' })).rejects.toThrow(/nowhere/)
  })
})

describe('a synchronisation', () => {
  test('writes providers, models, rules and tasks, and changes nothing when nothing has changed', async () => {
    const config = {
      providers: [provider('p', [model('a'), model('b', { external: false })], { apiKey: 'secret' })],
      systemModels: { default: 'a' },
      systemModelsExternal: { default: 'b' },
    }
    await using app = await startWith(config)
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

  test('follows the file', async () => {
    await using app = await startWith({ providers: [provider('p', [model('a', { descriptions: { en_US: 'Old' } })])] })

    await app.sync({
      providers: [
        provider('p', [model('a', { label: 'New', external: false, descriptions: { en_US: 'New', de_DE: 'Neu' } })], {
          name: 'Other',
          apiUrl: 'http://127.0.0.1:8/v1',
        }),
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

  test('leaves what an administrator changed, and goes on with the rest', async () => {
    await using app = await startWith({
      providers: [provider('p', [model('a', { descriptions: { en_US: 'Old' } }), model('b')], { apiKey: 'first' })],
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
        provider(
          'p',
          [
            model('a', {
              label: 'File',
              limits: { maxInputTokens: 9 },
              flags: ['beta'],
              descriptions: { en_US: 'File' },
            }),
            model('b', { label: 'File' }),
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
    const tasks =
      'select s.model_type, m.model_id from system_models s join ai_models m on m.id = s.model_id order by 1'
    expect(await svc.rows(tasks)).toEqual([
      { model_type: 'default', model_id: 'b' },
      { model_type: 'summary', model_id: 'b' },
    ])
  })

  test('takes the settings of models from the file, and leaves those that an administrator changed', async () => {
    const file = (settings?: object) => ({
      providers: [provider('p', [model('a', { settings }), model('b', { settings })])],
    })
    await using app = await startWith(file({ toolCalling: true, maxToolCallingRounds: 3 }))
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

  test('takes settings of a model from the file that the last synchronisation did not know yet', async () => {
    const file = (settings?: object) => ({ providers: [provider('p', [model('a', { settings })])] })
    await using app = await startWith(file())
    await app.svc.rows(`update ai_models set synced = synced - 'settings'`)

    await app.sync(file({ toolCalling: true }))

    expect(await app.svc.rows('select settings from ai_models')).toEqual([{ settings: { toolCalling: true } }])
  })

  test('switches off what is no longer in the file, and on again what returns', async () => {
    const whole = {
      providers: [provider('p', [model('a'), model('b')]), provider('q', [model('c')])],
      systemModels: { default: 'c', summary: 'a' },
    }
    await using app = await startWith(whole)

    const { deactivated } = await app.sync({ providers: [provider('p', [model('a')])], systemModels: { summary: 'a' } })

    expect(deactivated.toSorted()).toEqual(['b', 'c', 'q'])
    expect(await activeOf(app.svc)).toEqual({ a: true, b: false, c: false })
    expect(await activeOf(app.svc, 'ai_providers')).toEqual({ p: true, q: false })
    expect(await app.svc.rows('select model_type from system_models')).toEqual([{ model_type: 'summary' }])

    await app.sync(whole)

    expect(await activeOf(app.svc)).toEqual({ a: true, b: true, c: true })
    expect(await activeOf(app.svc, 'ai_providers')).toEqual({ p: true, q: true })
    expect(await app.svc.rows('select model_type from system_models')).toHaveLength(2)
  })

  test('never switches against an administrator', async () => {
    const whole = { providers: [provider('p', [model('a'), model('b')])] }
    const less = { providers: [provider('p', [model('a')])] }
    await using app = await startWith(whole)
    await app.svc.rows(`update ai_models set active = false where model_id = 'b'`)

    await app.sync(whole)
    expect(await activeOf(app.svc)).toEqual({ a: true, b: false })
    await app.sync(less)
    await app.sync(whole)
    expect(await activeOf(app.svc)).toEqual({ a: true, b: false })

    await app.svc.rows(`update ai_models set active = true where model_id = 'b'`)
    await app.sync(less)
    expect(await activeOf(app.svc)).toEqual({ a: true, b: false })
    await app.svc.rows(`update ai_models set active = true where model_id = 'b'`)
    await app.sync(less)
    expect(await activeOf(app.svc)).toEqual({ a: true, b: true })
  })

  test('leaves alone what an administrator made', async () => {
    await using app = await startWith({ providers: [provider('p', [model('a')])] })
    await app.svc.rows(`insert into ai_providers (provider_id, adapter, name) values ('own', 'demo', 'Own')`)
    await app.svc.rows(
      `insert into ai_models (provider_id, model_id, label) select id, 'own', 'Own' from ai_providers where provider_id = 'own'`,
    )

    const { deactivated } = await app.sync({ providers: [] })

    expect(deactivated.toSorted()).toEqual(['a', 'p'])
    expect(await activeOf(app.svc)).toEqual({ a: false, own: true })
  })

  test('and a check of providers that are away lose nothing', async () => {
    const config = {
      providers: [provider('away', [model('a')], { apiUrl: `http://127.0.0.1:${await freePort()}/v1` })],
    }
    await using app = await startWith(config)

    expect((await app.sync(config)).deactivated).toEqual([])
    expect(await app.svc.host.models.check()).toEqual([{ modelId: 'a', provider: 'away', status: 'unknown' }])
    expect(app.svc.log.find((line) => line.includes('did not answer the status check'))).toContain('ECONNREFUSED')
    expect(await activeOf(app.svc)).toEqual({ a: true })
    expect(await externals(app.svc)).toEqual(['a'])
  })

  test('takes turns on replicas that start together', async () => {
    await using database = await cloneDatabase()
    await using config = await configFor('http://127.0.0.1:9/v1')
    const shared = { DATABASE_URL: database.url, AI_CONFIG: config.file, APP_KEY: randomBytes(32).toString('base64') }

    const replicas = await Promise.all([startApp(shared), startApp(shared), startApp(shared)])

    try {
      expect(await replicas[0]?.rows('select model_id from ai_models')).toEqual([{ model_id: 'mock-1' }])
    } finally {
      await Promise.all(replicas.map((replica) => replica[Symbol.asyncDispose]()))
    }
  })
})

describe("a provider's key", () => {
  const keyOf = async (svc: TestApp) =>
    (await svc.rows<{ key: string }>('select api_key as key from ai_providers'))[0]?.key ?? ''
  const appKey = () => randomBytes(32).toString('base64')

  test('is sealed in the database, stays with an unchanged file, and follows a changed one', async () => {
    await using upstream = await startProvider()
    const config = (apiKey?: string) => ({
      providers: [provider('p', [model('mock-1')], { apiUrl: upstream.url, ...(apiKey && { apiKey }) })],
    })
    await using app = await startWith(config('CANARY-KEY-1'))
    const { token } = await app.svc.user()
    const used = async () => {
      expect((await app.svc.send('POST', '/api/ai-req', { token, body: question() })).status).toBe(200)
      return upstream.asked.at(-1)?.headers.authorization
    }
    const sealed = await keyOf(app.svc)
    const [{ row = '' } = {}] = await app.svc.rows<{ row: string }>('select p::text as row from ai_providers p')

    expect(sealed).toMatch(/^v1\./)
    expect(row).not.toContain('CANARY')
    expect(await used()).toBe('Bearer CANARY-KEY-1')
    await app.sync(config('CANARY-KEY-1'))
    expect(await keyOf(app.svc)).toBe(sealed)
    await app.sync(config('CANARY-KEY-2'))
    expect(await used()).toBe('Bearer CANARY-KEY-2')
    await app.sync(config())
    expect(await keyOf(app.svc)).toBe('')
    expect(await used()).toBeUndefined()
  })

  describe('goes to no server that it was not given for', () => {
    const file = (apiUrl: string, apiKey: string) => ({
      providers: [provider('p', [model('mock-1')], { apiUrl, apiKey })],
    })

    /** Two providers, and a service that knows the first by its file. */
    async function startWithTwo() {
      await using resources = new AsyncDisposableStack()
      const [first, second] = [resources.use(await startProvider()), resources.use(await startProvider())]
      const app = resources.use(await startWith(file(first.url, 'key-of-file')))
      const [admin, ada] = [
        await app.svc.user({ role: 'admin', abilities: ['read', 'write'] }),
        await app.svc.user({ username: 'ada' }),
      ]
      const [{ id = 0 } = {}] = await app.svc.rows<{ id: number }>('select id from ai_providers')
      const kept = resources.move()
      return {
        ...app,
        first,
        second,
        /** What an administrator does. */
        async change(attributes: object) {
          const data = { type: 'ai-providers', id: String(id), attributes }
          const { token } = admin
          const headers = { 'content-type': 'application/vnd.api+json' }
          const path = `/api/svc/v1/ai-providers/${id}`
          expect((await app.svc.send('PATCH', path, { token, headers, body: { data } })).status).toBe(200)
        },
        /** Which keys the two were sent. */
        async keys() {
          await app.svc.send('POST', '/api/ai-req', { token: ada.token, body: question() })
          const sentTo = ({ asked }: typeof first) => asked.map(({ headers }) => headers.authorization)
          return { first: sentTo(first), second: sentTo(second) }
        },
        warnings: () => app.svc.log.filter((line) => line.includes('do not take effect')).length,
        [Symbol.asyncDispose]: () => kept.disposeAsync(),
      }
    }

    test('a key that an administrator set stays with its address when the file names another', async () => {
      await using app = await startWithTwo()
      await app.change({ apiKey: 'key-of-admin' })

      await app.sync(file(app.second.url, 'key-of-file'))
      await app.sync(file(app.second.url, 'key-of-file'))

      expect(await app.keys()).toEqual({ first: ['Bearer key-of-admin'], second: [] })
      expect(app.warnings()).toBe(1)
    })

    test('a new key of the file does not go to an address that an administrator set', async () => {
      await using app = await startWithTwo()
      await app.change({ apiUrl: app.second.url, apiKey: 'key-of-file' })

      await app.sync(file(app.first.url, 'new-key-of-file'))

      expect(await app.keys()).toEqual({ first: [], second: ['Bearer key-of-file'] })
    })

    test('a file that changes both is followed', async () => {
      await using app = await startWithTwo()

      await app.sync(file(app.second.url, 'new-key-of-file'))

      expect(await app.keys()).toEqual({ first: [], second: ['Bearer new-key-of-file'] })
      expect(app.warnings()).toBe(0)
    })

    test('a key that an administrator set follows the file to another path of the same server', async () => {
      await using app = await startWithTwo()
      await app.change({ apiKey: 'key-of-admin' })

      await app.sync(file(`${app.first.url}/other`, 'key-of-file'))

      expect(await app.keys()).toEqual({ first: ['Bearer key-of-admin'], second: [] })
      expect(app.first.asked[0]?.path).toBe('/v1/other/chat/completions')
    })
  })

  test('is sealed anew after a rotation, so that the old application key can go', async () => {
    await using upstream = await startProvider()
    await using config = await configFor(upstream.url)
    await using database = await cloneDatabase()
    const [first, second] = [appKey(), appKey()]
    const settings = { DATABASE_URL: database.url, AI_CONFIG: config.file }
    const start = (keys: Record<string, string>) => startApp({ ...settings, ...keys })
    const ask = async (svc: TestApp, token: string) =>
      (await svc.send('POST', '/api/ai-req', { token, body: question() })).status
    let token = ''
    let before = ''
    {
      await using svc = await start({ APP_KEY: first })
      ;({ token } = await svc.user())
      // One that no file names must be sealed anew as well.
      await svc.rows(
        `insert into ai_providers (provider_id, adapter, name, api_key) values ('own', 'openai', 'Own', $1)`,
        [svc.services.vault.seal('own-key', 'ai_providers.api_key')],
      )
      before = await keyOf(svc)
    }
    {
      await using svc = await start({ APP_KEY: second, APP_PREVIOUS_KEYS: first })
      expect(await ask(svc, token)).toBe(200)
      expect(await keyOf(svc)).not.toBe(before)
    }
    await using svc = await start({ APP_KEY: second })

    expect(await ask(svc, token)).toBe(200)
    expect(upstream.asked.map(({ headers }) => headers.authorization)).toEqual(Array(2).fill('Bearer provider-key'))
    const [own] = await svc.rows<{ key: string }>(`select api_key as key from ai_providers where provider_id = 'own'`)
    expect(svc.services.vault.open(own?.key ?? '', 'ai_providers.api_key')).toBe('own-key')
  })

  test('that no application key opens is taken from the file again', async () => {
    await using upstream = await startProvider()
    await using config = await configFor(upstream.url)
    await using database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, AI_CONFIG: config.file }
    let token = ''
    {
      await using svc = await startApp({ ...settings, APP_KEY: appKey() })
      ;({ token } = await svc.user())
    }
    await using svc = await startApp({ ...settings, APP_KEY: appKey() })

    expect((await svc.send('POST', '/api/ai-req', { token, body: question() })).status).toBe(200)
    expect(upstream.asked.at(-1)?.headers.authorization).toBe('Bearer provider-key')
  })

  test('that was tampered with fails the call and nothing else', async () => {
    await using upstream = await startProvider()
    await using config = await configFor(upstream.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()
    await svc.rows(`update ai_providers set api_key = overlay(api_key placing 'AAAA' from length(api_key) - 8)`)

    const response = await svc.send('POST', '/api/ai-req', { token, body: question() })

    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ code: 'provider_failed' })
    expect(upstream.asked).toEqual([])
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)
  })
})

describe('a check of models', () => {
  test('knows a provider that refuses from one that lacks the model', async () => {
    await using upstream = await startProvider(refuses(500))
    await using app = await startWith({
      providers: [
        provider('here', [model('mock-1'), model('gone'), model('renamed', { upstreamId: 'mock-1' })], {
          apiUrl: upstream.url,
        }),
        provider('demo', [model('demo')], { adapter: 'demo' }),
      ],
    })

    const statuses = (await app.svc.host.models.check()).map(({ modelId, status }) => `${modelId}: ${status}`)

    expect(statuses.toSorted()).toEqual(['demo: online', 'gone: offline', 'mock-1: online', 'renamed: online'])
  })
})
