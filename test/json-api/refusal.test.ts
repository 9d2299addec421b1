import { afterAll, expect, test } from 'vitest'
import { mediaType, startJsonApi } from '../kit/json-api/client.ts'

const svc = await startJsonApi()
afterAll(() => svc[Symbol.asyncDispose]())

test('a refusal of who has not signed in says how to', async () => {
  for (const [method, path] of [
    ['GET', '/ai-models'],
    ['POST', '/ai-providers'],
    ['DELETE', '/ai-models/1'],
  ] as const) {
    const { status, headers, errors } = await svc.guest.send(method, path, method === 'POST' ? 'rubbish' : undefined)
    expect([status, headers.get('www-authenticate'), errors[0]?.code]).toEqual([401, 'Bearer', 'signed_out'])
  }
})

test('a refusal has the same sentence wherever it has the same code', async () => {
  const paths = {
    not_found: ['/ai-models/1', '/ai-tools/2', '/nonsense', '/ai-models/1/tools'],
    unsupported_include: ['/ai-models?include=a', '/ai-tools?include=b', '/ai-models/1?include=c'],
    unsupported_sort: ['/ai-models?sort=a', '/ai-tools?sort=b'],
    invalid_page: ['/ai-models?page[size]=x', '/ai-tools?page[number]=0'],
  }
  for (const [code, list] of Object.entries(paths)) {
    const answers = await Promise.all(list.map((path) => svc.ada.get(path)))
    const errors = answers.flatMap(({ errors }) => errors)
    expect(errors.map((error) => error.code)).toEqual(list.map(() => code))
    expect(new Set(errors.map(({ title }) => title)).size, code).toBe(1)
  }
})

test('a server error hides its cause from the client, and logs it', async () => {
  await using svc = await startJsonApi()
  await svc.rows('drop table ai_model_descriptions cascade')

  const { status, text, headers, errors } = await svc.ada.get('/ai-model-descriptions')

  expect(status).toBe(500)
  expect(headers.get('content-type')).toBe(mediaType)
  expect(errors).toEqual([
    {
      status: '500',
      code: 'internal',
      title: 'Something went wrong on the server.',
      meta: { requestId: headers.get('x-request-id') },
    },
  ])
  expect(text).not.toMatch(/ai_model|relation|select|at /)
  expect(svc.log.join('')).toContain('42P01')
})
