import { fileURLToPath } from 'node:url'
import { describe, expect, test, vi } from 'vitest'
import {
  answers,
  type Behaviour,
  beginStream,
  behavesInTurn,
  buildChunk,
  buildQuestion,
  callsTool,
  type ProviderRequest,
  startProvider,
  writeConfig,
} from '../../kit/ai/provider.ts'
import { startApp } from '../../kit/app.ts'
import { SLOW } from '../../kit/service-client.ts'
import { untilRead } from '../../kit/until-read.ts'

const EXTENSIONS = fileURLToPath(new URL('../../fixtures/extension.ts', import.meta.url))

async function startWith(behave: Behaviour, provider: object = {}) {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(behave))
  const config = resources.use(await writeConfig(upstream.url, { provider, model: { tools: ['weather', 'patient'] } }))
  const svc = resources.use(await startApp({ AI_CONFIG: config.file, EXTENSIONS }))
  const { token } = await svc.user()
  const disposables = resources.move()
  return {
    upstream,
    sendQuestion: (signal?: AbortSignal) =>
      svc.send('POST', '/api/ai-req', {
        token,
        headers: { accept: 'text/event-stream' },
        body: buildQuestion(),
        ...(signal && { signal }),
      }),
    /** Reads the usage so far of the calls under way from the database. */
    held: () => svc.rows('select input_tokens as input, output_tokens as output from usage_holds'),
    async record() {
      await vi.waitFor(async () => expect(await svc.rows('select id from usage_records')).toHaveLength(1), SLOW)
      const [record] = await svc.rows(
        'select outcome, estimated, input_tokens as input, output_tokens as output from usage_records',
      )
      return record
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

/** Counts the bytes of a prompt, four of which are estimated as a token. */
function promptBytes({ body }: ProviderRequest): number {
  const messages = body.messages as { content: string | null; tool_calls?: { function: { arguments: string } }[] }[]
  const texts = messages.flatMap(({ content, tool_calls: calls = [] }) => [
    content ?? '',
    ...calls.map((call) => call.function.arguments),
  ])
  return [...texts, ...definitionsIn(body.tools)].reduce((bytes, text) => bytes + Buffer.byteLength(text), 0)
}

type ToolOnWire = { function: { name: string; description: string; parameters: object } }

const definitionsIn = (tools: unknown) =>
  ((tools ?? []) as ToolOnWire[]).map(
    ({ function: { name, description, parameters } }) => name + description + JSON.stringify(parameters),
  )

describe('every request of one call is on its bill', () => {
  test('every request of one call is on its bill after leaving between rounds', async () => {
    await using app = await startWith(callsTool('patient', '{}'))
    const controller = new AbortController()
    const pendingCall = app.sendQuestion(controller.signal).catch(() => undefined)
    await vi.waitFor(() => expect(app.upstream.requests).toHaveLength(1), SLOW)
    // The first round is over, and the call waits for its tool.
    await vi.waitFor(async () => expect(await app.held()).toEqual([{ input: 7, output: 3 }]), SLOW)

    controller.abort()
    await pendingCall

    expect(await app.record()).toEqual({ outcome: 'aborted', estimated: false, input: 7, output: 3 })
  })

  test('every request of one call is on its bill when the second breaks', async () => {
    const breaks: Behaviour = (_, response) => {
      beginStream(response)
      for (const content of ['It ', 'is ', 'wet ']) response.write(buildChunk({ delta: { content } }))
      return untilRead(response).then(() => void response.destroy())
    }
    await using app = await startWith(behavesInTurn(callsTool('weather', '{"city":"Hildesheim"}'), breaks))

    await (await app.sendQuestion()).text()

    const second = Math.ceil(promptBytes(app.upstream.requests[1] as ProviderRequest) / 4)
    expect(second).toBeGreaterThan(15)
    expect(await app.record()).toEqual({ outcome: 'failed', estimated: true, input: 7 + second, output: 3 + 3 })
  })

  test('every request of one call is on its bill without any provider counts', async () => {
    const answersWithoutCounts: Behaviour = (request, response) => {
      beginStream(response)
      const isFirst = request.body.messages.length === 1
      const call = { index: 0, id: 'c', type: 'function', function: { name: 'weather', arguments: '{"city":"x"}' } }
      response.write(buildChunk({ delta: isFirst ? { tool_calls: [call] } : { content: 'Rain' } }))
      response.end(buildChunk({ delta: {}, finish_reason: isFirst ? 'tool_calls' : 'stop' }))
    }
    await using app = await startWith(answersWithoutCounts)

    await (await app.sendQuestion()).text()

    const [first, second] = app.upstream.requests.map((request) => Math.ceil(promptBytes(request) / 4)) as [
      number,
      number,
    ]
    expect([first > 2, second > first]).toEqual([true, true])
    // The tool call has twelve bytes, which are 3 tokens, and the answer of four letters is one.
    expect(await app.record()).toEqual({ outcome: 'completed', estimated: true, input: first + second, output: 3 + 1 })
  })

  test('a request that broke off after counting its input is billed, not retried', async () => {
    const fails: Behaviour = (_, response) => {
      beginStream(response)
      response.write(
        buildChunk({ delta: { role: 'assistant' } }, { usage: { prompt_tokens: 40, completion_tokens: 0 } }),
      )
      return untilRead(response).then(() => void response.destroy())
    }
    await using app = await startWith(behavesInTurn(fails, answers('All is well.')), { continuousUsage: true })

    await (await app.sendQuestion()).text()

    expect(app.upstream.requests).toHaveLength(1)
    expect(await app.record()).toEqual({ outcome: 'failed', estimated: false, input: 40, output: 0 })
  })
})
