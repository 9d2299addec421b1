import { once } from 'node:events'
import { request } from 'node:http'
import { afterAll, expect, test, vi } from 'vitest'
import { base, mediaType, startJsonApi } from '../kit/json-api/client.ts'
import { bearerHeader, sendRaw } from '../kit/json-api/raw-request.ts'

const svc = await startJsonApi()
afterAll(() => svc[Symbol.asyncDispose]())

const accepted = [
  ['nothing', undefined],
  ['the media type', mediaType],
  ['the media type among others', `text/html, ${mediaType};q=0.5`],
  ['any type', '*/*'],
  ['any application', 'application/*;q=0.1'],
  ['plain JSON', 'application/json'],
  ['an unknown profile', `${mediaType}; profile="https://example.org/unknown"`],
  ['one good entry beside a bad one', `${mediaType}; charset=utf-8, ${mediaType}`],
  ['a quoted comma', `text/plain; a="b,c", ${mediaType}`],
] as const

test('content negotiation answers whoever accepts its media type in one way or another', async () => {
  for (const [what, accept] of accepted) {
    const headers = { ...bearerHeader(svc.people.ada.token), ...(accept && { accept }) }

    const { status, headers: answered } = await sendRaw(svc.url, { method: 'GET', path: '/ai-models', headers })

    expect([what, status, answered['content-type']]).toEqual([what, 200, mediaType])
    expect(answered['vary']).toContain('Accept')
  }
})

// Each would take one second if the check were quadratic in the number of quotes.
test('content negotiation is not held up by quotes that nobody closes', { timeout: 60_000 }, async () => {
  for (let round = 0; round < 60; round++) {
    const { status } = await svc.guest.get('/configs', { accept: '\\"'.repeat(7400) })
    expect(status).toBe(406)
  }
})

const unacceptable = [
  `${mediaType}; charset=utf-8`,
  `${mediaType}; charset=utf-8, */*`,
  `${mediaType}; ext="https://example.org/unknown"`,
  'text/html',
  `${mediaType};q=0`,
]

test('content negotiation refuses who accepts only something else', async () => {
  for (const accept of unacceptable) {
    const { status, headers, errors } = await svc.ada.get('/ai-models', { accept })

    expect([accept, status]).toEqual([accept, 406])
    expect(errors).toMatchObject([{ status: '406', code: 'not_acceptable', source: { header: 'Accept' } }])
    expect(headers.get('content-type')).toBe(mediaType)
    expect(headers.get('vary')).toContain('Accept')
  }
})

const contentTypes = [
  [`${mediaType}; charset=utf-8`, 415],
  [`${mediaType}; ext="https://example.org/unknown"`, 415],
  [`${mediaType}; profile="https://example.org/unknown"`, 200],
  [mediaType, 200],
  ['application/json', 415],
  ['text/plain', 415],
  [undefined, 415],
] as const

test('content negotiation takes bodies of its media type alone', async () => {
  const { id, token } = svc.people.ada
  const body = JSON.stringify({ data: { type: 'users', id: String(id), attributes: { bio: 'Hello' } } })
  for (const [type, expected] of contentTypes) {
    const headers = {
      ...bearerHeader(token),
      'content-length': `${body.length}`,
      ...(type && { 'content-type': type }),
    }

    const answer = await sendRaw(svc.url, { method: 'PATCH', path: `/users/${id}`, headers, body })

    expect([type, answer.status, answer.headers['content-type']]).toEqual([type, expected, mediaType])
    const source = expected === 415 ? { header: 'Content-Type' } : undefined
    expect(JSON.parse(answer.text).errors?.[0].source).toEqual(source)
  }
})

test('content negotiation keeps its media type in every kind of answer', async () => {
  const answers = [
    await svc.guest.get('/ai-models'),
    await svc.ada.get('/no-such-type'),
    await svc.ada.get('/ai-models?unknown=1'),
    await svc.ada.send('PUT', '/ai-models'),
    await svc.ada.get('/ai-models/%E0%A4%A'),
    await svc.guest.get('/ai-models', { authorization: 'Bearer rubbish' }),
  ]

  for (const { headers } of answers) expect(headers.get('content-type')).toBe(mediaType)
  for (const { errors, headers } of answers) {
    for (const error of errors as unknown as { meta: { requestId: string } }[])
      expect(error.meta.requestId).toBe(headers.get('x-request-id'))
  }
  expect(answers.map(({ status }) => status)).toEqual([401, 404, 400, 405, 404, 401])
})

test('content negotiation answers in its media type while it stops', async () => {
  await using svc = await startJsonApi()
  const headers = {
    ...bearerHeader(svc.people.ada.token),
    'content-type': mediaType,
    'content-length': '2',
    expect: '100-continue',
  }
  // A request whose body is still to come keeps the service from stopping.
  const slow = request(`${svc.url}${base}/users/1`, { method: 'PATCH', headers })
  const slowAnswer = once(slow, 'response')
  slow.flushHeaders()
  await once(slow, 'continue')
  const stopping = svc.stop()

  // An idle connection may close just as it is used again.
  const refused = await vi.waitFor(
    async () => {
      const answer = await svc.guest.get('/configs')
      expect(answer.status).toBe(503)
      return answer
    },
    { timeout: 60_000 },
  )

  slow.end('{}')
  const [{ statusCode }] = await slowAnswer
  await stopping
  expect(refused.headers.get('content-type')).toBe(mediaType)
  expect(refused.errors).toMatchObject([{ status: '503', code: 'unavailable' }])
  expect(refused.headers.get('retry-after')).toBe('5')
  expect(statusCode).toBe(422)
})
