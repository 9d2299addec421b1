import { pipeline } from 'node:stream/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test, vi } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { eventsIn, textOf } from '../kit/event-stream.ts'
import { freePort } from '../kit/free-port.ts'
import {
  answers,
  type Behaviour,
  beginStream,
  breaksOff,
  canary,
  chunk,
  configFor,
  endStream,
  inTurn,
  neverEnds,
  question,
  refuses,
  replies,
  stalls,
  startProvider,
} from '../kit/provider.ts'

const streaming = { accept: 'text/event-stream' }

/** A service with one provider that behaves so. */
async function startWith(behave: Behaviour, provider: object = {}, settings: Record<string, string> = {}) {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider(behave))
  const config = resources.use(await configFor(upstream.url, { provider }))
  const svc = resources.use(await startApp({ AI_CONFIG: config.file, ...settings }))
  const { token } = await svc.user()
  const kept = resources.move()
  return {
    svc,
    upstream,
    ask: (headers: Record<string, string> = {}, signal?: AbortSignal) =>
      svc.send('POST', '/api/ai-req', { token, headers, body: question(), ...(signal && { signal }) }),
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  }
}

interface Kept {
  outcome: string
  input: number
  output: number
}

async function recordsOf(svc: TestApp): Promise<Kept[]> {
  await svc.services.usageLog.flush()
  return svc.rows<Kept>('select outcome, input_tokens as input, output_tokens as output from usage_records')
}

const timeouts = { connect: '1s', firstByte: '700ms', total: '5s' }

/** Everything a provider may do wrong before it says anything. */
const failures: [string, Behaviour][] = [
  ['refuses with 400', refuses(400)],
  ['refuses with 401', refuses(401)],
  ['refuses with 404', refuses(404)],
  ['refuses with 429', refuses(429)],
  ['refuses with 500', refuses(500)],
  ['stalls', stalls],
  ['answers with a page', replies(`<html>${canary}</html>`, { type: 'text/html' })],
  ['answers with a page and 502', replies(`<html>${canary}</html>`, { type: 'text/html', status: 502 })],
  ['answers with half a document', replies(`{"choices": [{"message": {"content": "${canary}`)],
  ['answers with another document', replies(JSON.stringify({ [canary]: canary }))],
  ['answers with an empty list', replies(JSON.stringify({ choices: [] }))],
  ['answers with a list', replies(JSON.stringify([canary]))],
  ['answers with null', replies('null')],
  ['answers with nothing', replies('')],
  ['redirects', (_, response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()],
  ['closes the connection', (_, response) => void response.destroy()],
]

describe('a provider that', () => {
  test.for(failures)('%s is a 500 that says nothing of it', async ([, behave]) => {
    await using app = await startWith(behave, { timeouts })

    const response = await app.ask()

    expect(response.status).toBe(500)
    const text = await response.text()
    expect(JSON.parse(text)).toEqual({
      success: false,
      message: 'The AI provider did not answer. Try again later.',
      code: 'provider_failed',
      requestId: response.headers.get('x-request-id'),
    })
    expect(app.svc.log.join('')).not.toContain(canary)
    expect(app.svc.log.join('')).toContain(response.headers.get('x-request-id'))
    // Who hears nothing until the time is up has had the question worked on.
    expect(await recordsOf(app.svc)).toEqual([{ outcome: 'failed', input: behave === stalls ? 2 : 0, output: 0 }])
  })

  test.for(failures)('%s is a plain 500 where a stream was asked for', async ([, behave]) => {
    await using app = await startWith(behave, { timeouts })

    const response = await app.ask(streaming)

    expect(response.status).toBe(500)
    expect(response.headers.get('content-type')).toMatch(/^application\/json/)
    expect(await response.json()).toMatchObject({ success: false, code: 'provider_failed' })
    expect(app.svc.log.join('')).not.toContain(canary)
    expect(await recordsOf(app.svc)).toMatchObject([{ outcome: 'failed', output: 0 }])
  })

  test('is not there is a 500, and the service goes on', async () => {
    await using config = await configFor(`http://127.0.0.1:${await freePort()}/v1`)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()

    const response = await svc.send('POST', '/api/ai-req', { token, body: question() })

    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ code: 'provider_failed' })
    expect(await recordsOf(svc)).toMatchObject([{ outcome: 'failed' }])
    expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)
  })

  test.for(['reset', 'end', 'error'] as const)('breaks off its stream (%s) ends ours with an error', async (how) => {
    await using app = await startWith(breaksOff(how))

    const response = await app.ask(streaming)

    expect(response.status).toBe(200)
    const text = await response.text()
    const events = eventsIn(text)
    expect(events.map(({ event }) => event)).toEqual(['delta', 'error'])
    expect(textOf(events)).toBe('Half an ')
    expect(events.at(-1)?.data).toEqual({
      code: 'provider_failed',
      message: 'The AI provider did not answer. Try again later.',
      requestId: response.headers.get('x-request-id'),
    })
    expect(text + app.svc.log.join('')).not.toContain(canary)
    expect(app.upstream.asked).toHaveLength(1)
    const [record, ...more] = await recordsOf(app.svc)
    expect(more).toEqual([])
    expect(record?.outcome).toBe('failed')
    expect(record?.output).toBeGreaterThan(0)
  })

  test('falls silent within its stream ends ours with an error', async () => {
    const behave: Behaviour = (_, response) => {
      beginStream(response)
      response.write(chunk({ delta: { content: 'Half an ' } }))
    }
    await using app = await startWith(behave, { timeouts })

    const events = eventsIn(await (await app.ask(streaming)).text())

    expect(events.map(({ event }) => event)).toEqual(['delta', 'error'])
  })

  test('says too little for too long is cut off by the time limit of the whole call', async () => {
    await using app = await startWith(neverEnds, { timeouts: { ...timeouts, total: '600ms' } })

    const events = eventsIn(await (await app.ask(streaming)).text())

    expect(events.at(0)?.event).toBe('delta')
    expect(events.at(-1)?.event).toBe('error')
    await vi.waitFor(() => expect(app.upstream.asked[0]?.abortedAt).toBeDefined())
    expect(await recordsOf(app.svc)).toMatchObject([{ outcome: 'failed' }])
  })

  test('counts what cannot be is still recorded, and so is everybody else', async () => {
    const impossible = { prompt_tokens: 1e15, completion_tokens: -3.5, total_tokens: 1 }
    const body = {
      choices: [{ message: { role: 'assistant', content: 'Hi' }, finish_reason: 'stop' }],
      usage: impossible,
    }
    await using app = await startWith(inTurn(replies(JSON.stringify(body)), answers('Hi')))

    expect((await app.ask()).status).toBe(200)
    expect((await app.ask()).status).toBe(200)

    const records = await recordsOf(app.svc)
    expect(records.map(({ outcome }) => outcome)).toEqual(['completed', 'completed'])
    expect(records[1]).toMatchObject({ input: 7, output: 3 })
  })
})

describe('another try', () => {
  test.for<[string, Behaviour]>([
    ['a refusal for the moment', refuses(503)],
    ['too many requests', refuses(429)],
    ['a closed connection', (_, response) => void response.destroy()],
  ])('follows %s', async ([, fault]) => {
    await using app = await startWith(inTurn(fault, answers('Now.')))

    const response = await app.ask()

    expect(response.status).toBe(200)
    expect(await response.json()).toEqual({ success: true, content: { text: 'Now.' } })
    expect(app.upstream.asked).toHaveLength(2)
    expect(await recordsOf(app.svc)).toMatchObject([{ outcome: 'completed', input: 7, output: 3 }])
  })

  test('follows before the first byte of a stream', async () => {
    await using app = await startWith(inTurn(refuses(503), refuses(503), answers('Now.')))

    const events = eventsIn(await (await app.ask(streaming)).text())

    expect(textOf(events)).toBe('Now.')
    expect(app.upstream.asked).toHaveLength(3)
    expect(await recordsOf(app.svc)).toHaveLength(1)
  })

  test('is the last after two', async () => {
    await using app = await startWith(refuses(503), { circuit: { failures: 100 } })

    expect((await app.ask()).status).toBe(500)
    expect(app.upstream.asked).toHaveLength(3)
  })

  test('does not follow a refusal for good', async () => {
    await using app = await startWith(refuses(400))

    await app.ask()

    expect(app.upstream.asked).toHaveLength(1)
  })

  test('does not follow once something was delivered', async () => {
    await using app = await startWith(breaksOff('reset'))

    await (await app.ask(streaming)).text()

    expect(app.upstream.asked).toHaveLength(1)
  })
})

describe('a provider that keeps failing', () => {
  test('is left alone for a while, and asked again after', async () => {
    await using app = await startWith(refuses(500), { circuit: { failures: 3, openFor: '1s' } })
    expect((await app.ask()).status).toBe(500)
    expect(app.upstream.asked).toHaveLength(3)

    const skipped = await app.ask()

    expect(skipped.status).toBe(500)
    expect(await skipped.json()).toMatchObject({ code: 'provider_failed' })
    expect((await app.ask(streaming)).status).toBe(500)
    expect(app.upstream.asked).toHaveLength(3)

    app.upstream.behave = answers('Back again.')
    await pause(1100)

    expect(await (await app.ask()).json()).toEqual({ success: true, content: { text: 'Back again.' } })
    expect((await app.ask()).status).toBe(200)
    expect(await recordsOf(app.svc)).toHaveLength(5)
  })

  test('is not blamed for questions it refuses', async () => {
    await using app = await startWith(refuses(400), { circuit: { failures: 2, openFor: '1m' } })

    for (let count = 0; count < 4; count++) await app.ask()

    expect(app.upstream.asked).toHaveLength(4)
  })

  test('is not blamed for callers who go away', async () => {
    await using app = await startWith(stalls, { circuit: { failures: 2, openFor: '1m' } })
    for (let count = 0; count < 3; count++) {
      const gone = new AbortController()
      const asking = app.ask({}, gone.signal).catch(() => undefined)
      await vi.waitFor(() => expect(app.upstream.asked).toHaveLength(count + 1))
      gone.abort()
      await asking
      await vi.waitFor(() => expect(app.upstream.asked[count]?.abortedAt).toBeDefined())
    }
    app.upstream.behave = answers('Here.')

    expect((await app.ask()).status).toBe(200)
  })
})

describe('a caller who goes away', () => {
  test('ends the provider call of an answer in one piece', async () => {
    await using app = await startWith(stalls)
    const gone = new AbortController()
    const asking = app.ask({}, gone.signal).catch((error: Error) => error.name)
    await vi.waitFor(() => expect(app.upstream.asked).toHaveLength(1))

    gone.abort()

    expect(await asking).toBe('AbortError')
    await vi.waitFor(() => expect(app.upstream.asked[0]?.abortedAt).toBeDefined(), { interval: 5 })
    await vi.waitFor(async () =>
      expect(await recordsOf(app.svc)).toEqual([{ outcome: 'aborted', input: 2, output: 0 }]),
    )
    await pause(300)
    expect(await recordsOf(app.svc)).toHaveLength(1)
    expect(app.upstream.asked).toHaveLength(1)
  })

  test('ends the provider call of a stream, and pays for what was delivered', async () => {
    await using app = await startWith(neverEnds)
    const gone = new AbortController()
    const response = await app.ask(streaming, gone.signal)
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    let read = ''
    while (read.split('event: delta').length < 5) read += (await reader?.read())?.value ?? ''

    gone.abort()

    await vi.waitFor(() => expect(app.upstream.asked[0]?.abortedAt).toBeDefined(), { interval: 5 })
    await vi.waitFor(async () => expect(await recordsOf(app.svc)).toMatchObject([{ outcome: 'aborted', input: 2 }]))
    const [record] = await recordsOf(app.svc)
    expect(record?.output).toBeGreaterThanOrEqual(4)
    expect(record?.output).toBeLessThan(100)
  })

  test('before the first byte of a stream leaves one record, too', async () => {
    await using app = await startWith(stalls)
    const gone = new AbortController()
    const asking = app.ask(streaming, gone.signal).catch(() => undefined)
    await vi.waitFor(() => expect(app.upstream.asked).toHaveLength(1))

    gone.abort()
    await asking

    await vi.waitFor(async () => expect(await recordsOf(app.svc)).toMatchObject([{ outcome: 'aborted', output: 0 }]))
  })

  test('between two tries is not tried for again', async () => {
    await using app = await startWith(refuses(503), { circuit: { failures: 100 } })
    const gone = new AbortController()
    const asking = app.ask({}, gone.signal).catch(() => undefined)
    await vi.waitFor(() => expect(app.upstream.asked).toHaveLength(1), { interval: 1 })

    gone.abort()
    await asking
    await pause(500)

    expect(app.upstream.asked.length).toBeLessThan(3)
    expect(await recordsOf(app.svc)).toMatchObject([{ outcome: 'aborted' }])
  })

  test('while reading slowly does not fill the memory of the service, and holds nothing up', async () => {
    let sent = 0
    const piece = chunk({ delta: { content: 'x'.repeat(65_536) } })
    const flood: Behaviour = async (_, response) => {
      beginStream(response)
      const pieces = function* () {
        for (;;) {
          sent += piece.length
          yield piece
        }
      }
      await pipeline(pieces, response).catch(() => undefined)
    }
    const warnings: Error[] = []
    process.on('warning', (warning) => warnings.push(warning))
    await using app = await startWith(flood)
    const gone = new AbortController()
    const response = await app.ask(streaming, gone.signal)
    const reader = response.body?.getReader()
    for (let count = 0; count < 300; count++) await reader?.read()
    await pause(500)
    const before = sent
    await pause(300)
    expect(sent).toBe(before)
    expect(sent).toBeLessThan(200 * 1024 * 1024)
    expect(warnings.map(({ name }) => name)).not.toContain('MaxListenersExceededWarning')

    gone.abort()

    await vi.waitFor(async () => expect(await recordsOf(app.svc)).toMatchObject([{ outcome: 'aborted' }]))
    await vi.waitFor(() => expect(app.upstream.asked[0]?.abortedAt).toBeDefined())
  })
})

describe('a stream', () => {
  test('has deltas, then what it took, then the end', async () => {
    await using app = await startWith(answers('Good day to you.'))

    const response = await app.ask(streaming)

    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    expect(response.headers.get('cache-control')).toBe('no-store')
    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
    const events = eventsIn(await response.text())
    expect(events).toEqual([
      { event: 'delta', data: { text: 'Good ' } },
      { event: 'delta', data: { text: 'day ' } },
      { event: 'delta', data: { text: 'to ' } },
      { event: 'delta', data: { text: 'you.' } },
      { event: 'usage', data: { inputTokens: 7, outputTokens: 3, cachedTokens: 0, reasoningTokens: 0 } },
      { event: 'done', data: {} },
    ])
    expect(app.upstream.asked[0]?.body).toMatchObject({ stream: true })
    expect(await recordsOf(app.svc)).toEqual([{ outcome: 'completed', input: 7, output: 3 }])
  })

  test('carries any text unharmed', async () => {
    const text = 'Zeilen\n\ndata: x\r\nevent: done\u2028 "und" \\ 😀 ü \u0000'
    await using app = await startWith(answers(text, [...text]))

    expect(textOf(eventsIn(await (await app.ask(streaming)).text()))).toBe(text)
  })

  test('shows that it is alive while the model is silent', async () => {
    const behave: Behaviour = async (_, response) => {
      beginStream(response)
      response.write(chunk({ delta: { content: 'Well' } }))
      await pause(500)
      endStream(response)
    }
    await using app = await startWith(behave, {}, { AI_HEARTBEAT: '50ms' })

    const text = await (await app.ask(streaming)).text()

    expect(text.split('\n').filter((line) => line.startsWith(':')).length).toBeGreaterThan(2)
    expect(eventsIn(text).map(({ event }) => event)).toEqual(['delta', 'usage', 'done'])
  })

  test('counts for itself where the provider does not', async () => {
    const behave: Behaviour = (_, response) => {
      beginStream(response)
      response.write(chunk({ delta: { content: 'eight letters and more' } }))
      response.write(chunk({ delta: {}, finish_reason: 'stop' }))
      response.end('data: [DONE]\n\n')
    }
    await using app = await startWith(behave)

    const events = eventsIn(await (await app.ask(streaming)).text())

    expect(events.find(({ event }) => event === 'usage')?.data).toMatchObject({ inputTokens: 2, outputTokens: 6 })
    expect(await recordsOf(app.svc)).toEqual([{ outcome: 'completed', input: 2, output: 6 }])
  })

  test('of many answers at once mixes nothing up', async () => {
    const echo: Behaviour = (asked, response) =>
      answers(`You said ${asked.body.messages.at(-1)?.content}`)(asked, response)
    await using app = await startWith(echo)
    const { token } = await app.svc.user()

    const told = await Promise.all(
      Array.from({ length: 20 }, async (_, index) => {
        const body = question(`number ${index}`)
        const response = await app.svc.send('POST', '/api/ai-req', { token, headers: streaming, body })
        return textOf(eventsIn(await response.text()))
      }),
    )

    expect(told).toEqual(Array.from({ length: 20 }, (_, index) => `You said number ${index}`))
    expect(await recordsOf(app.svc)).toHaveLength(20)
  })
})
