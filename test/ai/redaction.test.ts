import { describe, expect, test, vi } from 'vitest'
import {
  answers,
  breaksOff,
  buildQuestion,
  canary,
  neverEnds,
  refuses,
  replies,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { SLOW } from '../kit/service-client.ts'

const secretKey = 'CANARY-PROVIDER-KEY-0123456789'
const canaries = { prompt: 'CANARY-PROMPT', answer: 'CANARY-ANSWER', system: 'CANARY-SYSTEM', query: 'CANARY-QUERY' }
const streaming = { accept: 'text/event-stream' }

describe('nothing that a person said and no secret is written down', () => {
  test.for(['info', 'trace'])('nothing that a person said and no secret is logged at level %s', async (level) => {
    await using provider = await startProvider()
    await using config = await writeConfig(provider.url, {
      provider: { apiKey: secretKey, timeouts: { firstByte: '300ms' }, circuit: { failures: 1000 } },
    })
    await using svc = await startApp({ AI_CONFIG: config.file, LOG_LEVEL: level })
    const { token, email, name } = await svc.user({ username: 'canary-person' })
    const errors: string[] = []
    const body = {
      payload: {
        model: 'mock-1',
        messages: [
          { role: 'system', content: { text: canaries.system } },
          { role: 'user', content: { text: canaries.prompt } },
        ],
      },
    }
    const send = async (method: string, path: string, options: Parameters<typeof svc.send>[2]) => {
      const response = await svc.send(method, path, options)
      const text = await response.text()
      if (response.status >= 400 || text.includes('event: error')) errors.push(text)
    }

    const endings = [
      answers(canaries.answer),
      refuses(400),
      refuses(500),
      replies(canary),
      replies(`{"x":"${canary}"}`),
    ]
    for (const behave of [...endings, breaksOff('reset'), breaksOff('end'), breaksOff('error')]) {
      provider.behave = behave
      await send('POST', '/api/ai-req', { token, body })
      await send('POST', '/api/ai-req', { token, body, headers: streaming })
    }
    // Some servers report an error as a plain text, which may quote the question.
    provider.behave = replies(`data: {"error":"${canary}"}\n\n`)
    const others = {
      model: 'mock-1',
      stream: true,
      max_tokens: 9,
      messages: [{ role: 'user', content: canaries.prompt }],
    }
    for (const path of ['/v1/chat/completions', '/v1/messages']) await send('POST', path, { token, body: others })
    provider.behave = neverEnds
    const controller = new AbortController()
    const response = await svc.send('POST', '/api/ai-req', {
      token,
      body,
      headers: streaming,
      signal: controller.signal,
    })
    controller.abort()
    await response.text().catch(() => undefined)
    provider.behave = answers(canaries.answer)
    await send('POST', `/api/ai-req?token=${canaries.query}`, { token: `${token}x`, body })
    await send('POST', '/api/ai-req', { token, body: JSON.stringify(body).slice(0, -3) })
    await send('POST', '/api/ai-req', { token, body: { payload: { ...body.payload, model: canaries.prompt } } })
    await send('POST', '/api/ai-req', {
      token,
      body: { payload: { model: 'mock-1', messages: [{ role: canaries.prompt, content: { text: 1 } }] } },
    })
    await send('GET', `/api/${canaries.query}?x=${canaries.query}`, {
      token,
      headers: { cookie: `a=${canaries.query}` },
    })
    await send('GET', '/api/user', { token })
    await send('POST', '/trpc/ai.ask', { token, body: body.payload })
    await send('POST', '/trpc/ai.ask', { token, body: { ...body.payload, model: canaries.prompt } })
    await send('POST', '/trpc/ai.ask', { token, body: { ...body.payload, messages: canaries.prompt } })
    provider.behave = refuses(500)
    await send('POST', '/trpc/ai.ask', { token, body: body.payload })
    await send('GET', `/trpc/usage.summary?input=${encodeURIComponent(`{"from":"${canaries.query}"}`)}`, { token })
    await vi.waitFor(async () => {
      await svc.services.ai.usageLedger.flush()
      expect((await svc.rows('select id from usage_records')).length).toBeGreaterThanOrEqual(18)
    }, SLOW)

    const log = svc.log.join('')
    const secrets = [canary, secretKey, ...Object.values(canaries), token, token.split('_')[2] ?? '', email, name]
    for (const secret of secrets) {
      expect.soft(log.includes(secret), `${secret} in the log`).toBe(false)
      expect.soft(errors.join('').includes(secret), `${secret} in an error`).toBe(false)
    }
    expect(errors.length).toBeGreaterThan(15)
    expect(errors.join('')).not.toMatch(/\bat .*\.ts:|node_modules|select |APICall/)
    const kept = await svc.rows<{ row: string }>('select u::text as row from usage_records u')
    expect(JSON.stringify(kept)).not.toContain('CANARY')
  })

  test('every error names the request that stands in the log', async () => {
    await using provider = await startProvider(refuses(400))
    await using config = await writeConfig(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token } = await svc.user()

    const requests = [
      svc.send('POST', '/api/ai-req', { token, body: buildQuestion() }),
      svc.send('POST', '/api/ai-req', { token, body: {} }),
      svc.send('POST', '/api/ai-req', { token: 'bad', body: {} }),
      svc.send('POST', '/api/ai-req', { token, body: 'x', headers: { 'content-type': 'text/plain' } }),
      svc.send('GET', '/api/nothing', { token }),
      svc.send('DELETE', '/api/user', { token }),
    ]

    for (const response of await Promise.all(requests)) {
      const { requestId } = (await response.json()) as { requestId: string }
      expect(requestId).toBe(response.headers.get('x-request-id'))
      // The line is written after the answer was sent.
      const isLine = (text: string) => text.includes(requestId) && text.includes('"msg":"request"')
      const line = await vi.waitUntil(() => svc.log.find(isLine), SLOW)
      expect(JSON.parse(line)).toMatchObject({ requestId, status: response.status })
    }
    const ids = svc.log.map((line) => JSON.parse(line) as { requestId?: string }).filter(({ requestId }) => requestId)
    expect(ids.length).toBeGreaterThanOrEqual(requests.length)
  })

  test('the id of a request that a caller makes up is not taken', async () => {
    await using svc = await startApp()

    const response = await svc.send('GET', '/api/user', {
      headers: { 'x-request-id': 'made-up', 'request-id': 'made-up' },
    })

    expect(response.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    expect(svc.log.join('')).not.toContain('made-up')
  })
})
