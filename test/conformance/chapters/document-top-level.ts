import { demand, demandStatus, each, refuse } from '../check.ts'
import { inAll, onlyMembers, root } from '../every-document.ts'
import { isObject, isUri, type Json, type JsonObject, short } from '../json.ts'
import { chapter } from '../obligation.ts'
import { dataOf, includedParts, keyOf, type Part, partsNamed, primaryParts, relationshipsOf } from '../walk.ts'

const { must } = chapter('document')

/** Keys of everything that linkage reaches from the primary data. */
function reached(document: JsonObject): Set<string> {
  const included = new Map(includedParts(document).map(({ value }) => [keyOf(value), value]))
  const open = primaryParts(document).map(({ value }) => value)
  const keys = new Set<string>(open.map(keyOf))
  for (const resource of open) {
    const linked = relationshipsOf(resource).flatMap(({ value }) => dataOf(value['data']))
    for (const key of linked.map(keyOf).filter((it) => !keys.has(it))) {
      keys.add(key)
      const next = included.get(key)
      if (next) open.push(next)
    }
  }
  return keys
}

export const topLevel = [
  must('root', 'Top Level [289]', 'The root of every document is an object.', async (server) => {
    await server.survey()
    const wrong = server.seen.filter(({ text: written, body }) => written !== '' && !isObject(body))
    refuse(wrong.map(({ at, text: written }) => ({ at, seen: short(written) })))
  }),

  must(
    'has-content',
    'Top Level [292]',
    'A document has data, errors, meta or a member of an extension.',
    inAll(root, (value) =>
      ['data', 'errors', 'meta'].some((name) => name in value) || Object.keys(value).some((name) => name.includes(':'))
        ? undefined
        : `only ${Object.keys(value).join(', ')}`,
    ),
  ),

  must(
    'data-or-errors',
    'Top Level [300]',
    'data and errors never stand together.',
    inAll(root, (value) => ('data' in value && 'errors' in value ? 'both data and errors' : undefined)),
  ),

  must(
    'included-with-data',
    'Top Level [310]',
    'included stands only beside data.',
    inAll(root, (value) => ('included' in value && !('data' in value) ? 'included without data' : undefined)),
  ),

  must(
    'root-members',
    'Document Structure [281]',
    'The root has no members but those of the standard.',
    inAll(root, onlyMembers('data', 'errors', 'meta', 'jsonapi', 'links', 'included')),
  ),

  must('single-data', 'Top Level [336]', 'A request for one resource gives one resource object as data.', (server) =>
    each(server.typesWith('get'), 'no resource can be read', async (type) => {
      const answer = await server.get(server.pathOf(type, (await server.sample(type))['id']))
      demandStatus(answer, 200)
      demand(isObject(answer.document['data']), answer.at, `data is ${short(answer.document['data'])}`)
    }),
  ),

  must('collection-data', 'Top Level [373]', 'A collection is an array, however many there are.', (server) =>
    each(server.typesWith('list'), 'no collection can be read', async (type) => {
      const answer = await server.list(type)
      demandStatus(answer, 200)
      demand(Array.isArray(answer.document['data']), answer.at, `data is ${short(answer.document['data'])}`)
    }),
  ),

  must(
    'unique',
    'Identification [435]',
    'A pair of type and id stands for one resource: a collection has none twice.',
    inAll(root, (document) => {
      const keys = primaryParts(document).map(({ value }) => keyOf(value))
      const twice = keys.filter((key, index) => keys.indexOf(key) !== index)
      return twice.length > 0 ? `twice in the data: ${twice.join(', ')}` : undefined
    }),
  ),

  must(
    'full-linkage',
    'Compound Documents [622]',
    'Whatever is included is linked to from the primary data, directly or over others.',
    inAll(
      (document) => (Array.isArray(document['included']) ? root(document) : []),
      (document, { url }) => {
        // Only there may links be missing.
        if (/[?&]fields(\[|%5B)/i.test(url)) return undefined
        const linked = reached(document)
        const loose = includedParts(document)
          .map(({ value }) => keyOf(value))
          .filter((key) => !linked.has(key))
        return loose.length > 0 ? `included without a link: ${loose.join(', ')}` : undefined
      },
    ),
  ),

  must(
    'no-duplicates',
    'Compound Documents [708]',
    'No resource stands twice in a document.',
    inAll(
      (document) => (Array.isArray(document['included']) ? root(document) : []),
      (document) => {
        const keys = [...primaryParts(document), ...includedParts(document)].map(({ value }) => keyOf(value))
        const included = keys.slice(primaryParts(document).length)
        const twice = included.filter((key) => keys.indexOf(key) !== keys.lastIndexOf(key))
        return twice.length > 0 ? `more than once: ${[...new Set(twice)].join(', ')}` : undefined
      },
    ),
  ),

  must(
    'meta',
    'Meta Information [726]',
    'meta is an object.',
    inAll(
      (document, isLinkage) => partsNamed('meta', document, isLinkage),
      (value: Json) => (isObject(value) ? undefined : `meta ${short(value)}`),
    ),
  ),

  must(
    'jsonapi',
    'JSON:API Object [823]',
    'The jsonapi object has a version that is a string, URIs in ext and profile, and meta.',
    inAll(
      (document): Part<Json>[] =>
        document['jsonapi'] === undefined ? [] : [{ value: document['jsonapi'], at: '/jsonapi' }],
      (value: Json) => {
        if (!isObject(value)) return `jsonapi ${short(value)}`
        const { version = '1.1', ext = [], profile = [] } = value
        const isRight =
          typeof version === 'string' && [ext, profile].every((uris) => Array.isArray(uris) && uris.every(isUri))
        return isRight ? onlyMembers('version', 'ext', 'profile', 'meta')(value) : `jsonapi ${short(value)}`
      },
    ),
  ),

  must('unknown-members-ignored', 'Document Structure [282]', 'Unknown members of a request are ignored.', (server) =>
    each(server.makeable(), 'nothing can be made', async (type) => {
      const { data } = await server.newDocument(type)
      const document = { data: { ...data, nonesuch: 1 }, nonesuch: { any: true } }
      demandStatus(await server.create(type, document), 201, 202, 204)
    }),
  ),
]
