import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { eventsIn, textOf } from '../kit/ai/event-stream.ts'
import { answers, type Behaviour, callsTool, configFor, inTurn, question, startProvider } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}.ts`, import.meta.url))
const example = { EXTENSIONS: fixture('extension') }
const streaming = { accept: 'text/event-stream' }

interface Resource {
  id: string
  attributes: { values: Record<string, unknown> }
}

async function blocksOf(svc: TestApp, token?: string) {
  const response = await svc.send('GET', '/api/svc/v1/configs', { token })
  const { data } = (await response.json()) as { data: Resource[] }
  return Object.fromEntries(data.map(({ id, attributes }) => [id, attributes.values]))
}

describe('an extension of the operator', () => {
  test('an extension of the operator hears every change of user type', async () => {
    await using svc = await startApp(example)
    const { id, token } = await svc.user()

    await svc.send('GET', '/api/user', { token })

    const { changes } = (await blocksOf(svc, token))['heard'] as { changes: unknown[] }
    expect(changes).toContainEqual({ cause: 'bearer-token', from: 'guest', to: 'user', userId: id })
  })

  test('an extension of the operator is written against what the package exports for it, and nothing else can be imported', async () => {
    const { resolve } = createRequire(fixture('extension'))

    expect(Object.keys(await import(resolve('svc/extension')))).toEqual(['extend'])
    expect(() => resolve('svc/routers/core/extension.ts')).toThrow('not defined by "exports"')
  })

  test('an extension of the operator adds health checks, by itself and by listening', async () => {
    await using svc = await startApp({ ...example, HEALTH_DEEP_EVERY: '1' })

    const response = await svc.send('GET', '/health')

    expect(response.status).toBe(200)
    const { checks } = (await response.json()) as { checks: object[] }
    expect(checks).toContainEqual({ name: 'quota', status: 'ok', message: 'Enough is left.', response_time: null })
    expect(checks).toContainEqual({ name: 'listened', status: 'ok', message: 'After 4 others.', response_time: null })
  })

  test('an extension of the operator adds blocks of public configuration, each for whom it is meant', async () => {
    await using svc = await startApp(example)
    const { token } = await svc.user()

    expect(Object.keys(await blocksOf(svc))).toContain('heard')
    expect(Object.keys(await blocksOf(svc))).not.toContain('staff')
    expect((await blocksOf(svc, token))['staff']).toEqual({ room: 7 })
  })

  test.for(['throwing-extension', 'failing-extension'])(
    'an extension of the operator that fails (%s) disturbs nobody',
    async (name) => {
      await using svc = await startApp({ EXTENSIONS: fixture(name), HEALTH_DEEP_EVERY: '1' })
      const { token } = await svc.user()

      const response = await svc.send('POST', '/api/ai-req', { token, body: question('Hello', 'demo') })

      expect(response.status).toBe(200)
      await expect.poll(() => svc.log.join('')).toContain('a listener failed')
      const { checks } = (await (await svc.send('GET', '/health')).json()) as { checks: object[] }
      if (name === 'failing-extension') {
        expect(checks).toContainEqual({ name: 'quota', status: 'error', message: 'The check failed.' })
        expect(svc.log.find((line) => line.includes('"check":"quota"'))).toMatch(
          /"error":\{"name":"\w*Error".*"frames":/,
        )
      }
    },
  )

  test.for([
    ['without an extension', 'export const x = 1', 'exports no extension'],
    ['that cannot be read', 'export const {', 'could not be loaded'],
    ['with a tool of a name that is taken', `export { extension } from '${fixture('extension')}'`, `declare 'weather'`],
  ])('an extension %s stops the start', async ([, text = '', words = '']) => {
    const folder = await mkdtemp(join(tmpdir(), 'svc-extension-'))
    const file = join(folder, 'extension.mjs')
    await writeFile(file, text)
    await using database = await cloneDatabase()

    const starting = startApp({ EXTENSIONS: `${fixture('extension')},${file}`, DATABASE_URL: database.url })

    await expect(starting).rejects.toThrow(words)
    await rm(folder, { recursive: true, force: true })
  })
})

/** A service whose model may call all tools of the example. */
async function startWith(behave: Behaviour, provider: object = {}) {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(behave))
  const config = resources.use(
    await configFor(upstream.url, { provider, model: { tools: ['weather', 'broken', 'patient', 'of-nobody'] } }),
  )
  const svc = resources.use(await startApp({ ...example, AI_CONFIG: config.file }))
  const { token } = await svc.user()
  const kept = resources.move()
  return {
    svc,
    upstream,
    config,
    ask: (headers: Record<string, string> = {}) =>
      svc.send('POST', '/api/ai-req', { token, headers, body: question() }),
    /** What the provider was told that the tool gave. */
    told: () =>
      upstream.asked.at(-1)?.body.messages.flatMap(({ role, content }) => (role === 'tool' ? content : [])) ?? [],
    async records() {
      await svc.services.usageLedger.flush()
      return svc.rows('select outcome, input_tokens as input, output_tokens as output from usage_records')
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

describe('a function tool', () => {
  test('a function tool is declared to the provider with its schema', async () => {
    await using app = await startWith(answers('Hello.'))

    await app.ask()

    expect(app.upstream.asked[0]?.body.tools).toMatchObject([
      {
        type: 'function',
        function: {
          name: 'weather',
          description: 'The weather in a city now.',
          parameters: {
            type: 'object',
            properties: { city: { type: 'string', maxLength: 80, description: 'Name of the city.' } },
            required: ['city'],
            additionalProperties: false,
          },
        },
      },
      { function: { name: 'broken' } },
      { function: { name: 'patient' } },
    ])
  })

  test('a function tool is called for the model, and its result goes back', async () => {
    await using app = await startWith(callsTool('weather', '{"city":"Hildesheim"}', 'It rains.'))

    const response = await app.ask()

    expect(await response.json()).toEqual({ success: true, content: { text: 'It rains.' } })
    expect(app.told().map((text) => JSON.parse(text))).toEqual([{ city: 'Hildesheim', weather: 'rain' }])
    expect(app.upstream.asked).toHaveLength(2)
    expect(await app.records()).toEqual([{ outcome: 'completed', input: 14, output: 6 }])
  })

  test('a function tool is called within a stream, too', async () => {
    await using app = await startWith(callsTool('weather', '{"city":"Hildesheim"}', 'It rains.'))

    const events = eventsIn(await (await app.ask(streaming)).text())

    expect(textOf(events)).toBe('It rains.')
    expect(events.at(-2)).toMatchObject({ event: 'usage', data: { inputTokens: 14, outputTokens: 6 } })
    expect(app.told().map((text) => JSON.parse(text))).toEqual([{ city: 'Hildesheim', weather: 'rain' }])
    expect(await app.records()).toEqual([{ outcome: 'completed', input: 14, output: 6 }])
  })

  test('a function tool whose result has no JSON is told as one without a result', async () => {
    await using app = await startWith(callsTool('weather', '{"city":"Atlantis"}', 'Nobody knows.'))

    const response = await app.ask()

    expect(await response.json()).toEqual({ success: true, content: { text: 'Nobody knows.' } })
    expect(app.told()).toEqual(['null'])
  })

  test.for<[string, string, string, RegExp]>([
    ['of another kind', 'weather', '{"city":7}', /city/],
    ['beyond its schema', 'weather', '{"city":"x","secret":"y"}', /secret/],
    ['that are no JSON', 'weather', '{"city', /./],
    ['for a tool that is not there', 'telepathy', '{}', /no such tool/],
    ['that make it fail', 'broken', '{"secret":"CANARY-ARGUMENT"}', /^The tool failed\.$/],
  ])('a function tool tells the model of arguments %s', async ([, name, input, words]) => {
    for (const headers of [{}, streaming]) {
      await using app = await startWith(callsTool(name, input, 'Whatever.'))

      const response = await app.ask(headers)

      expect(response.status).toBe(200)
      const text = await response.text()
      expect(text).toContain('Whatever.')
      expect(app.told()).toEqual([expect.stringMatching(words)])
      expect(`${app.svc.log.join('')}${text}${app.told()}`).not.toContain('CANARY')
    }
  })

  test('a function tool that fails is named in the log', async () => {
    await using app = await startWith(callsTool('broken', '{"secret":"x"}'))

    const response = await app.ask()

    const line = app.svc.log.find((text) => text.includes('a tool failed')) ?? '{}'
    expect(JSON.parse(line)).toMatchObject({ tool: 'broken', requestId: response.headers.get('x-request-id') })
  })

  test('a function tool that is called without end is ended', async () => {
    const again: Behaviour = (asked, response) =>
      callsTool('weather', '{"city":"x"}')({ ...asked, body: { ...asked.body, messages: [] } }, response)
    for (const headers of [{}, streaming]) {
      await using app = await startWith(again)

      const response = await app.ask(headers)

      expect(response.status).toBe(500)
      expect(await response.json()).toMatchObject({ code: 'provider_failed' })
      expect(app.upstream.asked).toHaveLength(6)
      expect(app.upstream.asked.map(({ body }) => body['tool_choice'])).toEqual([...Array(5).fill(undefined), 'none'])
      expect(await app.records()).toEqual([{ outcome: 'failed', input: 42, output: 18 }])
    }
  })

  test('a function tool that waits for ever is ended by the time limit of the call', async () => {
    await using app = await startWith(callsTool('patient', '{}'), { timeouts: { total: '5s' } })

    const response = await app.ask()

    expect(response.status).toBe(500)
    expect(await app.records()).toEqual([{ outcome: 'failed', input: 7, output: 3 }])
  })

  test('a function tool that was used before the provider failed is paid for', async () => {
    const fails: Behaviour = (_, response) => void response.writeHead(400).end()
    await using app = await startWith(inTurn(callsTool('weather', '{"city":"x"}'), fails))

    expect((await app.ask()).status).toBe(500)
    expect(await app.records()).toEqual([{ outcome: 'failed', input: 7, output: 3 }])
  })

  test('a function tool can be switched off, and taken away and given by hand', async () => {
    await using app = await startWith(answers('Hello.'))
    const offered = async () => {
      await app.ask()
      const tools = (app.upstream.asked.at(-1)?.body.tools ?? []) as { function: { name: string } }[]
      return tools.map((tool) => tool.function.name)
    }
    expect(await offered()).toEqual(['weather', 'broken', 'patient'])

    await app.svc.changeCatalogue(`update ai_tools set active = false where name = 'patient'`)
    await app.svc.changeCatalogue(
      `delete from ai_model_tools where tool_id = (select id from ai_tools where name = 'broken')`,
    )
    await app.svc.host.models.sync()

    expect(await offered()).toEqual(['weather'])

    const [first] = app.config.config.providers
    await app.config.write({
      providers: [{ ...first, models: [{ id: 'mock-1', external: true, tools: ['broken'] }] }],
    })
    await app.svc.host.models.sync()

    expect(await offered()).toEqual([])
  })
})
