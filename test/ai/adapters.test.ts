import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { joinDeltas, parseEvents } from '../kit/ai/event-stream.ts'
import { PROVIDER_KEY, type Protocol, protocols } from '../kit/ai/protocols.ts'
import {
  type Behaviour,
  beginStream,
  buildQuestion,
  canary,
  sendJson,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { signIn } from '../kit/browser.ts'
import { untilRead } from '../kit/until-read.ts'

const streaming = { accept: 'text/event-stream' }

/** Answers in the protocol of a provider; `cut` says how its stream ends early, if it does. */
function speaks(protocol: Protocol, cut?: 'end' | 'reset' | 'error'): Behaviour {
  const [start, end] = protocol.events
  return ({ path, body }, response) => {
    if (!body.stream && !path.includes('stream')) return sendJson(response, protocol.answer)
    beginStream(response)
    response.write(start)
    if (cut === 'reset') return untilRead(response).then(() => void response.destroy())
    response.end({ end: '', error: protocol.error, none: end }[cut ?? 'none'])
  }
}

async function startWith(protocol: Protocol) {
  await using resources = new AsyncDisposableStack()
  const upstream = resources.use(await startProvider())
  const config = resources.use(
    await writeConfig(upstream.url, {
      provider: { adapter: protocol.adapter, apiUrl: `${upstream.url}/proxy`, apiKey: PROVIDER_KEY },
      model: { upstreamId: 'up-1', pricing: { currency: 'EUR', inputPerMillion: 1, outputPerMillion: 2 } },
    }),
  )
  const svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  const { token } = await svc.user()
  const disposables = resources.move()
  return {
    svc,
    upstream,
    sendQuestion: (headers: Record<string, string> = {}) =>
      svc.send('POST', '/api/ai-req', { token, headers, body: buildQuestion('How do you do?') }),
    /** Sets the provider's behaviour for the next question. */
    answerBy(next: Behaviour) {
      upstream.behave = next
      upstream.requests.length = 0
    },
    /** Returns the usage records since the last time, and deletes them. */
    async takeRecords() {
      await svc.services.ai.usageLedger.flush()
      return svc.rows(
        `delete from usage_records
         returning outcome, input_tokens as input, output_tokens as output, cached_tokens as cached, cost_micros::int as cost`,
      )
    },
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}

const whole = { outcome: 'completed', input: 7, output: 3, cached: 2, cost: 13 }

describe.for(protocols.map((protocol): [string, Protocol] => [protocol.adapter, protocol]))(
  'a provider of the kind %s',
  ([, protocol]) => {
    let app: Awaited<ReturnType<typeof startWith>>
    beforeAll(async () => {
      app = await startWith(protocol)
    })
    afterAll(() => app[Symbol.asyncDispose]())

    test(`a provider of the kind ${protocol.adapter} is called in its protocol at its address`, async () => {
      app.answerBy(speaks(protocol))

      const response = await app.sendQuestion()

      expect(await response.json()).toEqual({ success: true, content: { text: 'Hello there.' } })
      expect(app.upstream.requests).toHaveLength(1)
      expect(app.upstream.requests[0]?.path).toBe(`/v1/proxy${protocol.path}`)
      const [name, value] = protocol.header
      expect(app.upstream.requests[0]?.headers[name]).toBe(value)
      expect(JSON.stringify(app.upstream.requests[0]?.body)).toContain('How do you do?')
      expect(await app.takeRecords()).toEqual([whole])
    })

    test(`a provider of the kind ${protocol.adapter} streams its answer`, async () => {
      app.answerBy(speaks(protocol))

      const events = parseEvents(await (await app.sendQuestion(streaming)).text())

      expect(app.upstream.requests[0]?.path).toBe(`/v1/proxy${protocol.streamPath}`)
      expect(joinDeltas(events)).toBe('Hello there.')
      expect(events.map(({ event }) => event)).toEqual(['delta', 'delta', 'usage', 'done'])
      expect(await app.takeRecords()).toEqual([whole])
    })

    // The other providers end such an answer like any refusal.
    const whereBlocked = protocol.adapter === 'google' ? test : undefined
    whereBlocked?.('a question that its provider blocks is refused and recorded on every surface', async () => {
      const blocked = {
        promptFeedback: { blockReason: 'PROHIBITED_CONTENT' },
        usageMetadata: { promptTokenCount: 7 },
      }
      app.answerBy(({ path }, response) => {
        if (!path.includes('stream')) return sendJson(response, blocked)
        beginStream(response)
        response.end(`data: ${JSON.stringify(blocked)}\n\n`)
      })
      const { token } = await app.svc.user()
      const { browser } = await signIn(app.svc)
      const messages = [{ role: 'user', content: 'Hello' }]
      const sendQuestion = async (path: string, body: object) =>
        (await app.svc.send('POST', path, { token, body: { model: 'mock-1', ...body } })).text()
      const payload = { model: 'mock-1', messages: [{ role: 'user', content: { text: 'Hello' } }] }
      const readLines = async (stream: boolean) =>
        (await browser.send('POST', '/req/streamAI', { body: { payload: { ...payload, stream }, broadcast: false } }))
          .text

      for (const stream of [false, true]) {
        expect(await sendQuestion('/v1/chat/completions', { messages, stream })).toContain(
          '"finish_reason":"content_filter"',
        )
        expect(await sendQuestion('/v1/responses', { input: 'Hello', stream })).toContain('{"reason":"content_filter"}')
        expect(await sendQuestion('/v1/messages', { messages, stream, max_tokens: 9 })).toContain(
          '"stop_reason":"refusal"',
        )
        expect(await readLines(stream)).toContain('"code":"provider_refused"')
        expect((await app.sendQuestion(stream ? streaming : {})).status).toBe(422)
      }
      const record = { outcome: 'refused', input: 7, output: 0, cached: 0, cost: 7 }
      expect(await app.takeRecords()).toEqual(Array.from({ length: 10 }, () => record))
    })

    // The other providers have their own formats of citations, which their libraries read.
    const onlyHere = protocol.adapter === 'openai' ? test : undefined
    onlyHere?.('a cited page is reported without the tracking part of its address', async () => {
      const cited = [
        ['https://example.org/a?utm_source=openai', 'https://example.org/a'],
        ['https://example.org/b?utm_medium=x&id=1&gclid=2#top', 'https://example.org/b?id=1#top'],
        ['https://example.org/c?', 'https://example.org/c?'],
      ]
      const citation = (url = '') => ({ type: 'url_citation', start_index: 0, end_index: 5, url, title: 'A page' })
      const added = cited.map(([url]) => ({
        type: 'response.output_text.annotation.added',
        item_id: 'msg',
        output_index: 0,
        content_index: 0,
        annotation_index: 0,
        annotation: citation(url),
      }))
      app.answerBy((_, response) => {
        beginStream(response)
        response.write(protocol.events[0])
        for (const event of added) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        response.end(protocol.events[1])
      })
      const { browser } = await signIn(app.svc)
      const messages = [{ role: 'user', content: { text: 'Where?' } }]
      const body = { payload: { model: 'mock-1', stream: true, messages }, broadcast: false }
      const { text } = await browser.send('POST', '/req/streamAI', { body })

      const lines = text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line))
      const citations = lines.flatMap(({ type, content }) => (type === 'citation' ? [content] : []))
      expect(citations).toMatchObject(cited.map(([, url]) => ({ url, title: 'A page' })))
      await app.takeRecords()
    })

    test.for(['end', 'reset', 'error'] as const)(
      `a provider of the kind ${protocol.adapter} is incomplete when its stream is cut (%s)`,
      async (cut) => {
        app.answerBy(speaks(protocol, cut))

        const text = await (await app.sendQuestion(streaming)).text()

        const events = parseEvents(text)
        expect(joinDeltas(events)).toBe('Hello there.')
        expect(events.at(-1)).toMatchObject({ event: 'error', data: { code: 'provider_broke_off' } })
        expect(text + app.svc.log.join('')).not.toContain(canary)
        expect(await app.takeRecords()).toMatchObject([{ outcome: 'failed' }])
      },
    )

    test(`a provider of the kind ${protocol.adapter} tells which models it has`, async () => {
      app.upstream.listing = protocol.listing
      const check = async () => (await app.svc.host.models.check()).map(({ status }) => status)

      expect(await check()).toEqual(['online'])
      app.upstream.listing = { data: [{ id: 'up-11' }], models: [{ name: 'models/up-11' }] }
      expect(await check()).toEqual(['offline'])
      app.upstream.listing = 'rubbish'
      expect(await check()).toEqual(['unknown'])
      expect(await app.svc.rows('select status, active from ai_models')).toEqual([{ status: 'unknown', active: true }])
    })
  },
)
