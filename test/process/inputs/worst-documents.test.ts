import { afterAll, beforeAll, test } from 'vitest'
import { type Route, routesOf } from '../../../facades/json-api/routes.ts'
import { appRouter } from '../../../routers/index.ts'
import { type Attacked, startAttacked } from '../../kit/inputs/attacked.ts'
import { worstInputs } from '../../kit/inputs/worst.ts'
import { base, mediaType } from '../../kit/json-api/client.ts'

const MAX_URL = 15_000

let svc: Attacked

beforeAll(async () => {
  svc = await startAttacked()
})
afterAll(() => svc[Symbol.asyncDispose]())

async function send(method: string, path: string, body?: string) {
  const headers = { 'content-type': mediaType }
  const answer = await svc.send(method, path, { token: svc.token, ...(body !== undefined && { body, headers }) })
  return { status: answer.status, text: await answer.text() }
}

const writes = routesOf(appRouter).filter(({ method }) => method !== 'GET')

/** The documents in which a worst input can come. */
const documentsOf = ({ resource: { type } }: Route, id: string, worst: string) => ({
  'in place of the document': worst,
  'as attributes': `{"data":{"type":"${type}","id":"${id}","attributes":${worst}}}`,
  'as relationships': `{"data":{"type":"${type}","id":"${id}","relationships":${worst}}}`,
  'as data': `{"data":${worst}}`,
})

test('the worst documents cost any route of JSON:API little, and get a short answer', async () => {
  for (const route of writes) {
    const path = base + route.url.replace(':id', '1')
    const bytes = Math.min(svc.limitOf(route.name ?? ''), 64_000) - 200
    const names = ['data', ...Object.keys({ ...route.resource.attributes, ...route.resource.relations })]
    const links = {
      'very many links': `[${Array(Math.floor(bytes / 3))
        .fill('{}')
        .join()}]`,
    }
    const shapes = Object.entries({ ...worstInputs(names, bytes), ...links })
    const documents = shapes.flatMap(([shape, worst]) =>
      Object.entries(documentsOf(route, '1', worst)).map(([place, body]) => ({ body, what: `${shape} ${place}` })),
    )
    const answers = await Promise.all(
      documents.map(async ({ body, what }) => ({ what, ...(await send(route.method, path, body)) })),
    )
    for (const answer of answers) svc.assertModest(answer, `${route.method} ${route.url}: ${answer.what}`)
  }
})

test('very many query parameters get a short answer at every route of JSON:API', async () => {
  const searches = [
    Array.from({ length: 3000 }, (_, index) => `a${index}`).join('&'),
    Array.from({ length: 99 }, (_, index) => `page[${'x'.repeat(100)}${index}]=1`).join('&'),
    Array.from({ length: 99 }, (_, index) => `fields[%00${'%00'.repeat(30)}${index}]=1`).join('&'),
    `include=${Array(6000).fill('a').join()}`,
    `fields[users]=${Array(6000).fill('a').join()}`,
    `sort=${'x'.repeat(MAX_URL)}`,
  ]
  for (const { method, url, answers } of routesOf(appRouter)) {
    for (const search of searches) {
      const answer = await send(method, `${base + url.replace(':id', '1')}?${search}`)
      svc.assertModest(answer, `${method} ${url} ${answers} ${search.slice(0, 20)}`)
    }
  }
})
