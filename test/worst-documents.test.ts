import { afterAll, beforeAll, test } from 'vitest'
import { type Route, routesOf } from '../facades/json-api/routes.ts'
import { appRouter } from '../routers/index.ts'
import { type Attacked, startAttacked } from './inputs/attacked.ts'
import { worstInputs } from './inputs/worst.ts'
import { base, mediaType } from './json-api/client.ts'

const MAX_URL = 15_000

let svc: Attacked

beforeAll(async () => {
  svc = await startAttacked()
})
afterAll(() => svc[Symbol.asyncDispose]())

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
    const bytes = Math.min(svc.limitOf(route.name ?? ''), 200_000) - 200
    const names = ['data', ...Object.keys({ ...route.resource.attributes, ...route.resource.relations })]
    const shapes = worstInputs(names, bytes)
    const linkage = {
      'very many links': `[${Array(Math.floor(bytes / 3))
        .fill('{}')
        .join()}]`,
    }
    for (const [shape, worst] of Object.entries({ ...shapes, ...linkage }))
      for (const [place, body] of Object.entries(documentsOf(route, '1', worst))) {
        const answer = await svc.send(route.method, path, {
          token: svc.token,
          body,
          headers: { 'content-type': mediaType },
        })
        const what = `${route.method} ${route.url}: ${shape} ${place}`
        svc.assertModest({ status: answer.status, text: await answer.text() }, what)
      }
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
      const { status, text } = await svc
        .send(method, `${base + url.replace(':id', '1')}?${search}`, { token: svc.token })
        .then(async (answer) => ({ status: answer.status, text: await answer.text() }))
      svc.assertModest({ status, text }, `${method} ${url} ${answers} ${search.slice(0, 20)}`)
    }
  }
})
