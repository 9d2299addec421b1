import { applies, chapter, demand, demandEqual, demandStatus, each, type Finding, refuse } from '../check.ts'
import type { Answer } from '../client.ts'
import { type JsonObject, object } from '../json.ts'
import type { TargetType } from '../openapi.ts'
import type { TargetServer } from '../target.ts'
import { dataOf, keyOf, linkParts, urlOf } from '../walk.ts'

const { must } = chapter('paging')

const KEYS = ['first', 'last', 'prev', 'next']
const NOT_PAGED = 'no collection is paged'

const linksOf = ({ document }: Answer) => object(document['links'])
const keysOf = ({ document }: Answer) => dataOf(document['data']).map(keyOf)
const isThere = (links: JsonObject, name: string) => urlOf(links[name]) !== ''

/** The first page, small enough that there is a second. */
async function firstPage(server: TargetServer, { path, parameters }: TargetType, query: Record<string, string> = {}) {
  const size = parameters.find((name) => /^page\[(size|limit)\]$/.test(name))
  const answer = await server.get(path, { ...query, ...(size && { [size]: '2' }) })
  demandStatus(answer, 200)
  applies(isThere(linksOf(answer), 'next'), `${NOT_PAGED} with more than one page`)
  return answer
}

async function allPages(server: TargetServer, first: Answer): Promise<Answer[]> {
  const pages = [first]
  for (let page = first; isThere(linksOf(page), 'next') && pages.length < 100; ) {
    page = await server.follow(linksOf(page)['next'])
    demandStatus(page, 200)
    pages.push(page)
  }
  return pages
}

const eachPaged = (server: TargetServer, check: (type: TargetType) => unknown) =>
  each(
    server
      .typesWith('list')
      .filter(({ described, parameters }) => !described || parameters.some((name) => name.startsWith('page['))),
    NOT_PAGED,
    check,
  )

export const paging = [
  must(
    'keys',
    'Pagination [1414]',
    'A paged collection has pagination links, named first, last, prev and next.',
    (server) =>
      eachPaged(server, async (type) => {
        const answer = await server.list(type)
        const links = linksOf(answer)
        applies(type.described || KEYS.some((name) => name in links), NOT_PAGED)
        demand(
          KEYS.some((name) => name in links),
          answer.at,
          'no pagination links',
        )
      }),
  ),

  must(
    'place',
    'Pagination [1408]',
    'Pagination links stand with the collection that they page: in the document or in a relationship, not in a resource.',
    async (server) => {
      const answers = await server.documents()
      const links = answers.flatMap(({ at, document, isLinkage }) =>
        linkParts(document, isLinkage).map((part) => ({ at, place: part.at })),
      )
      const paging = links.filter(({ place }) => /\/links\/(first|last|prev|next)$/.test(place))
      applies(paging.length > 0, NOT_PAGED)
      const wrong = paging.filter(({ place }) => /^\/(data|included)(\/\d+)?\/links\//.test(place))
      refuse(wrong.map(({ at, place }): Finding => ({ at: `${at} ${place}`, seen: 'a pagination link' })))
    },
  ),

  must('first-has-no-prev', 'Pagination [1421]', 'On the first page, prev is null or absent.', (server) =>
    eachPaged(server, async (type) => {
      const page = await firstPage(server, type)
      demand(!isThere(linksOf(page), 'prev'), page.at, `prev is ${urlOf(linksOf(page)['prev'])}`)
    }),
  ),

  must(
    'last-has-no-next',
    'Pagination [1421]',
    'The last page has no next: who follows it comes to an end.',
    (server) =>
      eachPaged(server, async (type) => {
        const page = await firstPage(server, type)
        const pages = await allPages(server, page)
        demand(pages.length < 100 || !isThere(linksOf(pages.at(-1) ?? page), 'next'), page.at, 'no end after 100 pages')
      }),
  ),

  must('each-once', 'Pagination [1424]', 'Following next shows each resource once.', (server) =>
    eachPaged(server, async (type) => {
      const first = await firstPage(server, type)
      const keys = (await allPages(server, first)).flatMap(keysOf)
      const twice = keys.filter((key, index) => keys.indexOf(key) !== index)
      demand(twice.length === 0, first.at, `more than once: ${[...new Set(twice)].slice(0, 5).join(', ')}`)
    }),
  ),

  must('prev-leads-back', 'Pagination [1424]', 'prev leads back to the page before.', (server) =>
    eachPaged(server, async (type) => {
      const first = await firstPage(server, type)
      const second = await server.follow(linksOf(first)['next'])
      applies(isThere(linksOf(second), 'prev'), 'there is no prev')
      demandEqual(keysOf(await server.follow(linksOf(second)['prev'])), keysOf(first), second.at, 'the page at prev')
    }),
  ),

  must('first-and-last', 'Pagination [1424]', 'first leads to the first page and last to the last one.', (server) =>
    eachPaged(server, async (type) => {
      const first = await firstPage(server, type)
      const pages = await allPages(server, first)
      const ends = [
        ['first', first],
        ['last', pages.at(-1) ?? first],
      ] as const
      const known = ends.filter(([name]) => isThere(linksOf(first), name))
      applies(known.length > 0 && pages.length < 100, 'neither first nor last')
      for (const [name, page] of known)
        demandEqual(keysOf(await server.follow(linksOf(first)[name])), keysOf(page), first.at, `the page at ${name}`)
    }),
  ),

  must('keeps-order', 'Pagination [1424]', 'The pages of a sorted collection continue its order.', (server) =>
    eachPaged(server, async (type) => {
      const [sort] = type.sorts
      applies(sort !== undefined, 'no paged type can be sorted')
      const first = await firstPage(server, type, { sort })
      const second = await server.follow(linksOf(first)['next'])
      const { parameters } = type
      const size = parameters.find((name) => /^page\[(size|limit)\]$/.test(name))
      applies(size !== undefined, 'no way to ask for a longer page')
      const both = await server.get(type.path, { sort, [size]: String(keysOf(first).length * 2) })
      demandEqual([...keysOf(first), ...keysOf(second)], keysOf(both), first.at, 'the order over two pages')
    }),
  ),

  must('unknown-parameter', 'Pagination [1428]', 'A member of the page family that is not known gives 400.', (server) =>
    each(server.typesWith('list'), 'no collection can be read', async ({ path }) =>
      demandStatus(await server.get(path, { 'page[nonesuch]': '1' }), 400),
    ),
  ),

  must('unsupported', 'Pagination [1428]', 'Where nothing is paged, the page family gives 400.', (server) =>
    each(
      server
        .typesWith('list')
        .filter(({ described, parameters }) => described && !parameters.some((name) => name.startsWith('page['))),
      'every collection is paged',
      async ({ path }) => {
        demandStatus(await server.get(path, { 'page[number]': '1' }), 400)
      },
    ),
  ),
]
