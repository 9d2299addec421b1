import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { joinDeltas, parseEvents } from '../kit/ai/event-stream.ts'
import {
  answers,
  type Behaviour,
  behavesInTurn,
  buildQuestion,
  callsTool,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'

const fixture = (name: string) => fileURLToPath(new URL(`../fixtures/${name}.ts`, import.meta.url))
const example = { EXTENSIONS: fixture('extension') }
const streaming = { accept: 'text/event-stream' }

const tools = ['weather', 'broken', 'patient', 'of-nobody']

let upstream: Awaited<ReturnType<typeof startProvider>>
let config: Awaited<ReturnType<typeof writeConfig>>
let svc: TestApp
beforeAll(async () => {
  upstream = await startProvider()
  config = await writeConfig(upstream.url, { model: { tools } })
  const [local] = config.config.providers
  const models = [{ id: 'hasty-1', label: 'Hasty 1', external: true, tools }]
  const hasty = { ...local, id: 'hasty', models, timeouts: { total: '5s' } }
  await config.write({ ...config.config, providers: [local, hasty] })
  svc = await startApp({ ...example, AI_CONFIG: config.file, HEALTH_DEEP_EVERY: '1' })
})
afterAll(async () => {
  await svc[Symbol.asyncDispose]()
  await config[Symbol.asyncDispose]()
  await upstream[Symbol.asyncDispose]()
})

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
    const { id, token } = await svc.user()

    await svc.send('GET', '/api/user', { token })

    const { changes } = (await blocksOf(svc, token))['heard'] as { changes: unknown[] }
    expect(changes).toContainEqual({ cause: 'bearer-token', from: 'guest', to: 'user', userId: id })
  })

  test('an extension uses only what the package exports for it', async () => {
    const { resolve } = createRequire(fixture('extension'))

    expect(Object.keys(await import(resolve('svc/extension')))).toEqual(['extend'])
    expect(() => resolve('svc/routers/core/extension.ts')).toThrow('not defined by "exports"')
  })

  test('an extension of the operator adds health checks, by itself and by listening', async () => {
    const response = await svc.send('GET', '/health')

    expect(response.status).toBe(200)
    const { checks } = (await response.json()) as { checks: object[] }
    expect(checks).toContainEqual({ name: 'quota', status: 'ok', message: 'Enough is left.', response_time: null })
    expect(checks).toContainEqual({ name: 'listened', status: 'ok', message: 'After 4 others.', response_time: null })
  })

  test('an extension adds blocks of public configuration for its audience', async () => {
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

      const response = await svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', 'demo') })

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

/** Sends one person's questions to a model that may call all tools of the example. */
async function prepare(behave: Behaviour, model = 'mock-1') {
  upstream.behave = behave
  upstream.requests.length = 0
  const { id, token } = await svc.user()
  return {
    sendQuestion: (headers: Record<string, string> = {}) =>
      svc.send('POST', '/api/ai-req', { token, headers, body: buildQuestion('Hello', model) }),
    /** The tool result that the provider got. */
    told: () =>
      upstream.requests.at(-1)?.body.messages.flatMap(({ role, content }) => (role === 'tool' ? content : [])) ?? [],
    async records() {
      await svc.services.ai.usageLedger.flush()
      const text =
        'select outcome, input_tokens as input, output_tokens as output from usage_records where user_id = $1'
      return svc.rows(text, [id])
    },
  }
}

describe('a function tool', () => {
  test('a function tool is declared to the provider with its schema', async () => {
    const app = await prepare(answers('Hello.'))

    await app.sendQuestion()

    expect(upstream.requests[0]?.body.tools).toMatchObject([
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
    const app = await prepare(callsTool('weather', '{"city":"Hildesheim"}', 'It rains.'))

    const response = await app.sendQuestion()

    expect(await response.json()).toEqual({ success: true, content: { text: 'It rains.' } })
    expect(app.told().map((text) => JSON.parse(text))).toEqual([{ city: 'Hildesheim', weather: 'rain' }])
    expect(upstream.requests).toHaveLength(2)
    expect(await app.records()).toEqual([{ outcome: 'completed', input: 14, output: 6 }])
  })

  test('a function tool is called within a stream, too', async () => {
    const app = await prepare(callsTool('weather', '{"city":"Hildesheim"}', 'It rains.'))

    const events = parseEvents(await (await app.sendQuestion(streaming)).text())

    expect(joinDeltas(events)).toBe('It rains.')
    expect(events.at(-2)).toMatchObject({ event: 'usage', data: { inputTokens: 14, outputTokens: 6 } })
    expect(app.told().map((text) => JSON.parse(text))).toEqual([{ city: 'Hildesheim', weather: 'rain' }])
    expect(await app.records()).toEqual([{ outcome: 'completed', input: 14, output: 6 }])
  })

  test('a function tool whose result is no JSON counts as one without result', async () => {
    const app = await prepare(callsTool('weather', '{"city":"Atlantis"}', 'Nobody knows.'))

    const response = await app.sendQuestion()

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
      const app = await prepare(callsTool(name, input, 'Whatever.'))

      const response = await app.sendQuestion(headers)

      expect(response.status).toBe(200)
      const text = await response.text()
      expect(text).toContain('Whatever.')
      expect(app.told()).toEqual([expect.stringMatching(words)])
      expect(`${svc.log.join('')}${text}${app.told()}`).not.toContain('CANARY')
    }
  })

  test('a function tool that fails is named in the log', async () => {
    const app = await prepare(callsTool('broken', '{"secret":"x"}'))

    const response = await app.sendQuestion()

    const failures = svc.log.map((line) => JSON.parse(line)).filter(({ msg }) => msg === 'a tool failed')
    expect(failures).toContainEqual(
      expect.objectContaining({ tool: 'broken', requestId: response.headers.get('x-request-id') }),
    )
  })

  test('a function tool that is called without end is ended', async () => {
    const again: Behaviour = (request, response) =>
      callsTool('weather', '{"city":"x"}')({ ...request, body: { ...request.body, messages: [] } }, response)
    for (const headers of [{}, streaming]) {
      const app = await prepare(again)

      const response = await app.sendQuestion(headers)

      expect(response.status).toBe(500)
      expect(await response.json()).toMatchObject({ code: 'provider_failed' })
      expect(upstream.requests).toHaveLength(6)
      expect(upstream.requests.map(({ body }) => body['tool_choice'])).toEqual([...Array(5).fill(undefined), 'none'])
      expect(await app.records()).toEqual([{ outcome: 'failed', input: 42, output: 18 }])
    }
  })

  test("a function tool that never returns is ended by the call's time limit", async () => {
    const app = await prepare(callsTool('patient', '{}'), 'hasty-1')

    const response = await app.sendQuestion()

    expect(response.status).toBe(500)
    expect(await app.records()).toEqual([{ outcome: 'failed', input: 7, output: 3 }])
  })

  test('a function tool that was used before the provider failed is paid for', async () => {
    const fails: Behaviour = (_, response) => void response.writeHead(400).end()
    const app = await prepare(behavesInTurn(callsTool('weather', '{"city":"x"}'), fails))

    expect((await app.sendQuestion()).status).toBe(500)
    expect(await app.records()).toEqual([{ outcome: 'failed', input: 7, output: 3 }])
  })

  test('a function tool can be switched off, and taken away and given by hand', async () => {
    await using config = await writeConfig(upstream.url, { model: { tools } })
    await using svc = await startApp({ ...example, AI_CONFIG: config.file })
    const { token } = await svc.user()
    upstream.behave = answers('Hello.')
    const offered = async () => {
      await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
      const declared = (upstream.requests.at(-1)?.body.tools ?? []) as { function: { name: string } }[]
      return declared.map((tool) => tool.function.name)
    }
    expect(await offered()).toEqual(['weather', 'broken', 'patient'])

    await svc.changeCatalogue(`update ai_tools set active = false where name = 'patient'`)
    await svc.changeCatalogue(
      `delete from ai_model_tools where tool_id = (select id from ai_tools where name = 'broken')`,
    )
    await svc.host.models.sync()

    expect(await offered()).toEqual(['weather'])

    const [first] = config.config.providers
    await config.write({
      providers: [{ ...first, models: [{ id: 'mock-1', external: true, tools: ['broken'] }] }],
    })
    await svc.host.models.sync()

    expect(await offered()).toEqual([])
  })
})
