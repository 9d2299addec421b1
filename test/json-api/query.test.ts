import { afterAll, expect, test } from 'vitest'
import { addCatalogue, startJsonApi } from '../kit/json-api/client.ts'
import { bearerHeader, sendRaw } from '../kit/json-api/raw-request.ts'

const svc = await startJsonApi()
const catalogue = await addCatalogue(svc)
afterAll(() => svc[Symbol.asyncDispose]())

const refusedQueries = [
  ['/ai-models?unknown=1', ['unknown']],
  ['/ai-models?include=nonsense', ['include']],
  ['/ai-models?include=provider.models.provider', ['include']],
  ['/ai-models?include=provider&include=tools', ['include']],
  ['/ai-models?page[size]=1&page%5Bsize%5D=2', ['page[size]']],
  ['/ai-models?sort=active', ['sort']],
  ['/ai-models?sort=modelId,label,createdAt,id', ['sort']],
  ['/ai-models?filter[label]=x', ['filter[label]']],
  ['/ai-models?filter=x', ['filter']],
  ['/ai-models?page=2', ['page']],
  ['/ai-models?page[size]=0', ['page[size]']],
  ['/ai-models?page[size]=1001', ['page[size]']],
  ['/ai-models?page[number]=99999999999999999999', ['page[number]']],
  ['/ai-models?page[number]=x&page[offset]=1', ['page[number]', 'page[offset]']],
  ['/ai-models?fields[ai-models]=label,nonsense', ['fields[ai-models]']],
  ['/ai-models?fields[ai-models]=constructor,toString', ['fields[ai-models]', 'fields[ai-models]']],
  ['/ai-models?fields[nonsense]=label', ['fields[nonsense]']],
  ['/ai-models?fields=label', ['fields']],
  ['/ai-models?page[__proto__]=1', ['page[__proto__]']],
  ['/ai-models?filter[constructor]=1', ['filter[constructor]']],
  ['/ai-tools?filter[status]=sleepy', ['filter[status]']],
  ['/ai-tools?filter[assigned]=-1', ['filter[assigned]']],
  ['/ai-tools?filter[status]=active&filter[status]=inactive', ['filter[status]']],
  ['/ai-models/1?sort=label', ['sort']],
  ['/ai-models/1?page[size]=1', ['page[size]']],
  ['/configs?include=models', ['include']],
  ['/configs/public?include=models', ['include']],
  ['/configs/locale?sort=id', ['sort']],
  ['/ai-model-flags?page[size]=1', ['page[size]']],
  ['/translation-labels/en_US?include=labels', ['include']],
  ['/users/me?include=rooms', ['include']],
] as const

test('a query is refused by the names of its parameters', async () => {
  for (const [path, parameters] of refusedQueries) {
    const { status, errors } = await svc.ada.get(path)

    expect([path, status]).toEqual([path, 400])
    expect(errors.map(({ source }) => source?.['parameter']).toSorted()).toEqual(parameters.toSorted())
    expect(errors.every(({ status }) => status === '400')).toBe(true)
  }
})

test('a query names each problem once', async () => {
  const { errors } = await svc.ada.get('/ai-models?include=a,b&sort=c&unknown=1')

  expect(errors.map(({ code, source }) => [code, source])).toEqual([
    ['unsupported_parameter', { parameter: 'unknown' }],
  ])
})

test('a query is the same with its brackets encoded and not', async () => {
  const headers = bearerHeader(svc.people.admin.token)

  const bare = await sendRaw(svc.url, {
    method: 'GET',
    path: '/ai-models?page[size]=2&fields[ai-models]=label',
    headers,
  })
  const encoded = await sendRaw(svc.url, {
    method: 'GET',
    path: '/ai-models?page%5Bsize%5D=2&fields%5Bai-models%5D=label',
    headers,
  })

  expect(bare.status).toBe(200)
  expect(JSON.parse(bare.text).data).toEqual(JSON.parse(encoded.text).data)
  expect(JSON.parse(bare.text).data).toHaveLength(2)
})

test('a query of a write may select members of its response, nothing else', async () => {
  const { model, tool } = catalogue
  const body = { data: { type: 'ai-models', id: model.main, attributes: {} } }

  const included = await svc.admin.patch(`/ai-models/${model.main}?include=provider`, body)
  const fewer = await svc.admin.patch(`/ai-models/${model.main}?fields[ai-models]=label`, body)
  const links = await svc.admin.post(`/ai-tools/${tool.search}/relationships/models?page[size]=1`, { data: [] })

  expect(included.status).toBe(400)
  expect(fewer.one.attributes).toEqual({ label: 'Label main' })
  expect(links.status).toBe(400)
})
