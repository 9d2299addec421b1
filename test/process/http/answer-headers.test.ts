import { beforeAll, describe, expect, test } from 'vitest'
import { buildQuestion } from '../../kit/ai/provider.ts'
import { startApp } from '../../kit/app.ts'
import { shareResource } from '../../kit/share-resource.ts'

let token: string

const svc = shareResource(() => startApp({ TRUSTED_PROXIES: '127.0.0.1' }))
beforeAll(async () => {
  token = (await svc.user()).token
})

describe('answers that are somebody’s own', () => {
  test.for([
    ['GET', '/trpc/users.me', undefined],
    ['POST', '/trpc/ai.ask', { model: 'demo', messages: [{ role: 'user', content: { text: 'Hi' } }] }],
    ['POST', '/api/ai-req', buildQuestion('Hi', 'demo')],
    ['GET', '/api/user', undefined],
  ] as const)('%s %s is kept by no cache, and neither is its refusal', async ([method, path, body]) => {
    const answer = await svc.send(method, path, { token, body })
    const refusal = await svc.send(method, path, { token: 'rubbish', body })

    expect(answer.status).toBeLessThan(300)
    expect(refusal.status).toBe(401)
    expect([answer, refusal].map(({ headers }) => headers.get('cache-control'))).toEqual(['no-store', 'no-store'])
  })
})

describe('what a browser may do with an answer', () => {
  test.for(['/api/svc/v1/configs', '/api/svc/v1/nothing', '/health', '/trpc/nothing', '/nothing'])(
    'the document at %s may load nothing and stand in no frame',
    async (path) => {
      const { headers } = await svc.send('GET', path)

      expect(headers.get('content-security-policy')).toBe("default-src 'none';frame-ancestors 'none'")
      expect(headers.get('x-content-type-options')).toBe('nosniff')
    },
  )

  test('a page keeps its own policy', async () => {
    const { headers } = await svc.send('GET', '/login')

    expect(headers.get('content-security-policy')).toContain("script-src 'self'")
  })
})

const hsts = async (headers: Record<string, string> = {}) =>
  (await svc.send('GET', '/health/live', { headers })).headers.get('strict-transport-security')

test('Strict-Transport-Security is not sent over plain http', async () => {
  expect(await hsts()).toBeNull()
})

test('Strict-Transport-Security is sent where a trusted proxy says that the browser uses https', async () => {
  expect(await hsts({ 'x-forwarded-proto': 'https' })).toMatch(/^max-age=\d{7,}/)
})

test('Strict-Transport-Security is not sent where somebody else says so', async () => {
  await using untrusting = await startApp()
  const { headers } = await untrusting.send('GET', '/health/live', { headers: { 'x-forwarded-proto': 'https' } })

  expect(headers.get('strict-transport-security')).toBeNull()
})
