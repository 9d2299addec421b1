import type { TargetType } from '../api.ts'
import { applies, demand, demandEqual, demandStatus, each, type Finding, refuse } from '../check.ts'
import type { Answer } from '../client.ts'
import { type JsonObject, object, short } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { type Linked, MAX_PAGES } from '../target-reader.ts'
import { dataOf, keyOf, linkParts, urlOf } from '../walk.ts'

const { must } = chapter('paging')

const KEYS = ['first', 'last', 'prev', 'next']
const NOT_PAGED = 'no collection is paged'
const NO_PAGED_RELATIONSHIP = 'no relationship is paged'

const linksOf = ({ document }: Answer) => object(document['links'])
const keysOf = ({ document }: Answer) => dataOf(document['data']).map(keyOf)
const twiceIn = (keys: string[]) => keys.filter((key, index) => keys.indexOf(key) !== index)
const demandNone = (keys: string[], at: string, what: string) =>
  demand(keys.length === 0, at, `${what}: ${[...new Set(keys)].slice(0, 5).join(', ')}`)
const isThere = (links: JsonObject, name: string) => urlOf(links[name]) !== ''

/** The first page, small enough that there is a second. */
async function firstPage(server: TargetServer, { path, parameters }: TargetType, query: Record<string, string> = {}) {
  const size = parameters.find((name) => /^page\[(size|limit)\]$/.test(name))
  const answer = await server.get(path, { ...query, ...(size && { [size]: '2' }) })
  demandStatus(answer, 200)
  applies(isThere(linksOf(answer), 'next'), `${NOT_PAGED} with more than one page`)
  return answer
}

/** Keys of a collection as other ways lead to it than by `next` from its first small page. */
async function keysByOtherWays(server: TargetServer, type: TargetType, first: Answer): Promise<Set<string>> {
  const keys = (await server.pagesFrom(await server.get(type.path))).flatMap(keysOf)
  const { last } = linksOf(first)
  const back = urlOf(last) ? await server.pagesFrom(await server.follow(last), 'prev') : []
  return new Set([...keys, ...back.flatMap(keysOf)])
}

/** Relationships of many that have pagination links of their own, each with its first page. */
const eachPagedRelationship = async (server: TargetServer, check: (linked: Linked, first: Answer) => unknown) =>
  each(
    (await server.linked()).filter(({ self, relation }) => self && relation.many !== false),
    NO_PAGED_RELATIONSHIP,
    async (linked) => {
      const shown = object(object(object(linked.resource['relationships'])[linked.relation.name])['links'])
      const first = await server.get(linked.self)
      const links = { ...linksOf(first), ...shown }
      applies(isThere(links, 'next'), NO_PAGED_RELATIONSHIP)
      await check(linked, { ...first, document: { ...first.document, links } })
    },
  )

const isResource = (value: JsonObject) => 'attributes' in value || 'relationships' in value

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
        const pages = await server.pagesFrom(page)
        demand(
          pages.length < MAX_PAGES || !isThere(linksOf(pages.at(-1) ?? page), 'next'),
          page.at,
          `no end after ${MAX_PAGES} pages`,
        )
      }),
  ),

  must('each-once', 'Pagination [1424]', 'Following next shows each resource once.', (server) =>
    eachPaged(server, async (type) => {
      const first = await firstPage(server, type)
      const pages = await server.pagesFrom(first)
      const keys = pages.flatMap(keysOf)
      demandNone(twiceIn(keys), first.at, 'more than once')
      applies(pages.length < MAX_PAGES, 'there are too many pages to see them all')
      const others = await keysByOtherWays(server, type, first)
      demandNone(
        [...others].filter((key) => !keys.includes(key)),
        first.at,
        'on no page',
      )
    }),
  ),

  must(
    'relationship-data',
    'Relationships [505]',
    'Pagination links of a relationship page its linkage, not the related resources.',
    (server) =>
      eachPagedRelationship(server, async (_, first) => {
        for (const name of KEYS.filter((key) => isThere(linksOf(first), key))) {
          const page = await server.follow(linksOf(first)[name])
          demandStatus(page, 200)
          const whole = dataOf(page.document['data']).find(isResource)
          demand(whole === undefined, page.at, `${name} leads to a resource, not an identifier: ${short(whole)}`)
        }
      }),
  ),

  must(
    'relationship-each-once',
    'Relationships [505]',
    'Following next from a relationship shows each of its members once.',
    (server) =>
      eachPagedRelationship(server, async ({ related }, first) => {
        const keys = (await server.pagesFrom(first)).flatMap(keysOf)
        demandNone(twiceIn(keys), first.at, 'more than once')
        applies(related !== '', 'no related link')
        const members = (await server.allDataAt(related)).map(keyOf)
        demandNone(
          members.filter((key) => !keys.includes(key)),
          first.at,
          'on no page',
        )
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
      const pages = await server.pagesFrom(first)
      const ends = [
        ['first', first],
        ['last', pages.at(-1) ?? first],
      ] as const
      const known = ends.filter(([name]) => isThere(linksOf(first), name))
      applies(known.length > 0 && pages.length < MAX_PAGES, 'neither first nor last')
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
