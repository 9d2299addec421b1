import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { buildModel, buildProvider, readActive, startWithConfig } from '../kit/ai/model-config.ts'
import { answers, buildQuestion, refuses, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { shareResource } from '../kit/share-resource.ts'

const app = shareResource(() => startWithConfig({ providers: [buildProvider('p', [buildModel('a')])] }))

test('the configuration of models may be YAML, with secrets from the environment', async () => {
  await using upstream = await startProvider(answers('From YAML.'))
  await using config = await writeConfig('')
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

  const response = await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })

  expect(await response.json()).toEqual({ success: true, content: { text: 'From YAML.' } })
  expect(upstream.requests[0]).toMatchObject({
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
  ['a secret that is not there', yaml(`    apiKey: "\${NOT_THERE}"`), [`\${NOT_THERE} is not set in the environment`]],
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
  [
    'a time that is none',
    yaml('    timeouts: {connect: soon}'),
    ['line 5, providers.0.timeouts.connect', 'must be a length of time'],
  ],
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
])('the configuration of models is refused with line and path for %s', async ([, text, words]) => {
  await writeFile(app.file, text)

  const error = await app.svc.host.models.sync().then(
    () => new Error('was taken'),
    (thrown: Error) => thrown,
  )

  for (const word of words) expect(error.message).toContain(word)
  expect(error.message).toContain(app.file)
  expect(await readActive(app.svc)).toEqual({ a: true })
})

test('the configuration of models lists everything that is wrong at once', async () => {
  const wrong = {
    providers: [{ id: '', adapter: 'x' }, buildProvider('p', [{ id: 1 }], { apiKey: `\${GONE}` })],
    more: 1,
  }

  const refused = app.sync(wrong)

  await expect(refused).rejects.toThrow(/providers\.0\.adapter/)
  await expect(refused).rejects.toThrow(/providers\.1\.models\.0\.id/)
  await expect(refused).rejects.toThrow(/GONE/)
  await expect(refused).rejects.toThrow(/more/)
})

test('the configuration of models that is not there stops the start', async () => {
  await using database = await cloneDatabase()

  await expect(startApp({ DATABASE_URL: database.url, AI_CONFIG: '/nowhere/ai.yaml' })).rejects.toThrow(/nowhere/)
})

test('a check of models tells a provider that refuses from a missing model', async () => {
  await using upstream = await startProvider(refuses(500))
  await using app = await startWithConfig({
    providers: [
      buildProvider(
        'here',
        [buildModel('mock-1'), buildModel('gone'), buildModel('renamed', { upstreamId: 'mock-1' })],
        {
          apiUrl: upstream.url,
        },
      ),
      buildProvider('demo', [buildModel('demo')], { adapter: 'demo' }),
    ],
  })

  const statuses = (await app.svc.host.models.check()).map(({ modelId, status }) => `${modelId}: ${status}`)

  expect(statuses.toSorted()).toEqual(['demo: online', 'gone: offline', 'mock-1: online', 'renamed: online'])
})
