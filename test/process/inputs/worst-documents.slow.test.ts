import { test, vi } from 'vitest'
import { inputsOf } from '../../../facades/http/procedures.ts'
import { buildRoutes, type Route } from '../../../facades/json-api/routes.ts'
import { startAttackTarget } from '../../kit/inputs/attack-target.ts'
import { listMemberNames } from '../../kit/inputs/schemas.ts'
import { buildWorstMembers, buildWorstStrangers } from '../../kit/inputs/worst-inputs.ts'
import { wholeRouter, withAssistants } from '../../kit/json-api/assistants.ts'
import { base, mediaType } from '../../kit/json-api/client.ts'
import { sampleList } from '../../kit/rounds.ts'
import { shareResource } from '../../kit/share-resource.ts'

// The tests send some thousand requests on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

const MAX_URL = 15_000

const svc = shareResource(() => startAttackTarget(withAssistants))

async function send(method: string, path: string, body?: string) {
  const headers = { 'content-type': mediaType }
  const answer = await svc.send(method, path, { token: svc.token, ...(body !== undefined && { body, headers }) })
  return { status: answer.status, text: await answer.text() }
}

const writes = buildRoutes(wholeRouter).filter(({ method }) => method !== 'GET')

/** The places in a document for the worst input, with the known member names of each. */
function placesOf({ resource: { type, attributes, relations }, action, procedure }: Route) {
  const resource = `"type":"${type}","id":"1"`
  const own = action && procedure ? listMemberNames({ inputs: inputsOf(procedure) }) : []
  return [
    { place: 'in place of the document', names: ['data', ...own], write: (worst: string) => worst },
    {
      place: 'as attributes',
      names: Object.keys({ ...attributes, ...relations }),
      write: (worst: string) => `{"data":{${resource},"attributes":${worst}}}`,
    },
    {
      place: 'as relationships',
      names: Object.keys(relations),
      write: (worst: string) => `{"data":{${resource},"relationships":${worst}}}`,
    },
    {
      place: 'as data',
      names: ['attributes', 'relationships'],
      write: (worst: string) => `{"data":${worst}}`,
    },
  ]
}

const manyLinks = (bytes: number) => ({
  'very many links': `[${Array(Math.floor(bytes / 3))
    .fill('{}')
    .join()}]`,
})

/** Groups routes that read documents in the same way apart from the names. */
const kindOf = ({ method, answers, hasFile, procedure }: Route) => [method, answers, hasFile, !procedure].join()

/** Returns all routes in the soak, else about `count` with one of each kind; the inputs of every procedure are tested over tRPC. */
function someOf(routes: Route[], count: number): Route[] {
  const sample = new Set(sampleList(routes, count))
  const firsts = new Map(routes.toReversed().map((route) => [kindOf(route), route]))
  return routes.filter((route) => sample.has(route) || firsts.get(kindOf(route)) === route)
}

test('the worst documents cost any route of JSON:API little, and get a short answer', async () => {
  const kinds = new Set<string>()
  for (const route of someOf(writes, 16)) {
    const path = base + route.url.replace(':id', '1')
    const bytes = Math.min(svc.limitOf(route.name ?? ''), 64_000) - 200
    const strangers = kinds.has(kindOf(route)) ? {} : buildWorstStrangers(bytes)
    kinds.add(kindOf(route))
    const documents = placesOf(route).flatMap(({ place, names, write }) => {
      const known = names.length > 0 ? buildWorstMembers(names, bytes) : {}
      const shapes = Object.entries({ ...strangers, ...known, ...manyLinks(bytes) })
      return shapes.map(([shape, worst]) => ({ body: write(worst), what: `${shape} ${place}` }))
    })
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
  for (const { method, url, answers } of someOf(buildRoutes(wholeRouter), 30)) {
    for (const search of searches) {
      const answer = await send(method, `${base + url.replace(':id', '1')}?${search}`)
      svc.assertModest(answer, `${method} ${url} ${answers} ${search.slice(0, 20)}`)
    }
  }
})
