import { applies, chapter, demand, demandEqual, demandStatus, each, type Finding, refuse } from '../check.ts'
import type { Answer } from '../client.ts'
import { isObject, isUri, type Json, type JsonObject, object, short, text } from '../json.ts'
import type { TargetServer } from '../target.ts'
import {
  dataOf,
  identifierParts,
  includedParts,
  keyOf,
  linkParts,
  type Part,
  partsNamed,
  primaryParts,
  relationshipParts,
  relationshipsOf,
  resourceParts,
  urlOf,
} from '../walk.ts'
import { isNameLegal } from './names.ts'

const { must, should } = chapter('document')

type Parts<T extends Json> = (document: JsonObject, isLinkage: boolean) => Part<T>[]

/** Judges a part of every document there is; a judge says what is wrong. */
const inAll =
  <T extends Json>(parts: Parts<T>, judge: (value: T, answer: Answer) => string | undefined) =>
  async (server: TargetServer) => {
    const answers = await server.documents()
    const found = answers.flatMap((answer) =>
      parts(answer.document, answer.isLinkage).map((part) => ({ answer, ...part })),
    )
    applies(found.length > 0, 'no document has such a part')
    const findings = found.flatMap(({ answer, value, at }): Finding[] => {
      const wrong = judge(value, answer)
      return wrong ? [{ at: `${answer.at} ${at}`, seen: wrong }] : []
    })
    refuse(findings)
  }

const root = (document: JsonObject) => [{ value: document, at: '' }]
const onlyObjects = (parts: Part<Json>[]) => parts.filter((part): part is Part => isObject(part.value))

/** Members of an extension and @-members are always allowed. */
const strangers = (value: JsonObject, known: string[]) =>
  Object.keys(value).filter((name) => !known.includes(name) && !name.includes(':') && !name.startsWith('@'))

const onlyMembers =
  (...known: string[]) =>
  (value: JsonObject) => {
    const found = strangers(value, known)
    return found.length > 0 ? `unknown members ${found.join(', ')}` : undefined
  }

const isIdentified = ({ type, id }: JsonObject) => typeof type === 'string' && typeof id === 'string'
const identity = (value: JsonObject) =>
  isIdentified(value) ? undefined : `type and id are ${short([value['type'], value['id']])}`

const LANGUAGE_TAG = /^[a-z]{2,8}(-[a-z0-9]{1,8})*$/i

/** A registered relation type of RFC 8288. */
const RELATION_NAME = /^[a-z][a-z0-9.-]*$/

const isForeignKey = (name: string, relation: string) =>
  new RegExp(`^${relation.replace(/[^\w]/g, '.')}[-_]?id$`, 'i').test(name)

/** Attributes that are named like a key of a related resource, and have its id. */
const foreignKeys = (resource: JsonObject): string[] =>
  relationshipsOf(resource).flatMap(({ name: relation, value: { data } }) =>
    Object.entries(object(resource['attributes']))
      .filter(([name, value]) => isForeignKey(name, relation) && isObject(data) && String(value) === data['id'])
      .map(([name]) => name),
  )

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

export const documents = [
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

  must(
    'resource-members',
    'Resource Objects [281]',
    'Resource objects have no members but those of the standard.',
    inAll(resourceParts, onlyMembers('type', 'id', 'lid', 'attributes', 'relationships', 'links', 'meta')),
  ),

  must(
    'relationship-members',
    'Relationships [281]',
    'Relationship objects have no members but links, data and meta.',
    inAll(relationshipParts, onlyMembers('links', 'data', 'meta')),
  ),

  must(
    'identifier-members',
    'Resource Identifier Objects [281]',
    'Resource identifiers have no members but type, id, lid and meta.',
    inAll(identifierParts, onlyMembers('type', 'id', 'lid', 'meta')),
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
    'type-and-id',
    'Identification [424]',
    'Resource objects have a type and an id, both strings.',
    inAll(resourceParts, identity),
  ),

  must(
    'identifiers',
    'Resource Identifier Objects [604]',
    'Resource identifiers have a type and an id, both strings.',
    inAll(identifierParts, identity),
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
    'type-names',
    'Identification [442]',
    'Types obey the rules for member names.',
    inAll(resourceParts, ({ type }) => (isNameLegal(text(type)) ? undefined : `type ${short(type)}`)),
  ),

  must(
    'attributes',
    'Attributes [454]',
    'attributes and relationships are objects.',
    inAll(resourceParts, ({ attributes = {}, relationships = {} }) =>
      isObject(attributes) && isObject(relationships)
        ? undefined
        : `attributes ${short(attributes)}, relationships ${short(relationships)}`,
    ),
  ),

  must(
    'fields',
    'Fields [454]',
    'Attributes and relationships share a namespace with each other and with type and id.',
    inAll(resourceParts, (resource) => {
      const attributes = Object.keys(object(resource['attributes']))
      const relationships = Object.keys(object(resource['relationships']))
      const wrong = [
        ...attributes.filter((name) => relationships.includes(name)),
        ...[...attributes, ...relationships].filter((name) => name === 'type' || name === 'id'),
      ]
      return wrong.length > 0 ? `fields ${wrong.join(', ')}` : undefined
    }),
  ),

  should(
    'foreign-keys',
    'Attributes [468]',
    'The key of a related resource is not an attribute.',
    inAll(resourceParts, (resource) => {
      const keys = foreignKeys(resource)
      return keys.length > 0 ? `attributes ${keys.join(', ')}` : undefined
    }),
  ),

  must(
    'relationship-content',
    'Relationships [486]',
    'A relationship object has links, data or meta.',
    inAll(relationshipParts, (value) =>
      ['links', 'data', 'meta'].some((name) => name in value) ? undefined : short(value),
    ),
  ),

  must(
    'relationship-links',
    'Relationships [486]',
    'The links of a relationship name the relationship or the related resources.',
    inAll(
      (document, isLinkage) => relationshipParts(document, isLinkage).filter(({ value }) => 'links' in value),
      ({ links }) =>
        'self' in object(links) ||
        'related' in object(links) ||
        Object.keys(object(links)).some((name) => name.includes(':'))
          ? undefined
          : `links ${short(links)}`,
    ),
  ),

  must(
    'linkage',
    'Resource Linkage [530]',
    'Linkage is null, one identifier or an array of identifiers.',
    inAll(
      (document, isLinkage) => relationshipParts(document, isLinkage).filter(({ value }) => 'data' in value),
      ({ data }) =>
        data === null || isObject(data) || (Array.isArray(data) && data.every(isObject))
          ? undefined
          : `data ${short(data)}`,
    ),
  ),

  must(
    'linkage-kind',
    'Resource Linkage [530]',
    'Linkage of a to-many relationship is always an array, of a to-one relationship never.',
    async (server) => {
      const answers = await server.documents()
      const related = answers.flatMap(({ at, document, isLinkage }) =>
        resourceParts(document, isLinkage).flatMap(({ value }) =>
          relationshipsOf(value).map((it) => ({
            at,
            relation: server.typeOf(text(value['type']))?.relations.get(it.name),
            data: it.value['data'],
          })),
        ),
      )
      const known = related.filter(({ relation, data }) => relation?.many !== undefined && data !== undefined)
      applies(known.length > 0, 'no relationship shows linkage')
      const wrong = known.filter(({ relation, data }) => relation?.many !== Array.isArray(data))
      refuse(wrong.map(({ at, relation, data }) => ({ at: `${at} ${relation?.name}`, seen: `linkage ${short(data)}` })))
    },
  ),

  must('self-links', 'Resource Links [596]', 'GET on the self link of a resource gives that resource.', (server) =>
    each(server.types, 'no types are known', async (type) => {
      for (const resource of (await server.samples(type)).slice(0, 2)) await selfLink(server, resource)
      const [first] = await server.samples(type)
      applies(Boolean(urlOf(object(first?.['links'])['self'])), 'no resource has a self link')
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
    'links',
    'Links [756]',
    'A link is a string, a link object or null.',
    inAll(linkParts, (value: Json) =>
      value === null || typeof value === 'string' || isObject(value) ? undefined : `link ${short(value)}`,
    ),
  ),

  must(
    'link-urls',
    'Links [756]',
    'A link is a URI reference.',
    inAll(linkParts, (value: Json) =>
      value === null || (URL.canParse(urlOf(value), 'http://any') && urlOf(value) !== '')
        ? undefined
        : `link ${short(value)}`,
    ),
  ),

  must(
    'link-objects',
    'Link Objects [793]',
    'A link object has an href and nothing but its known members.',
    inAll(
      (document, isLinkage) => onlyObjects(linkParts(document, isLinkage)),
      (value) =>
        text(value['href'])
          ? onlyMembers('href', 'rel', 'describedby', 'title', 'type', 'hreflang', 'meta')(value)
          : `link ${short(value)}`,
    ),
  ),

  must(
    'link-languages',
    'Link Objects [810]',
    'hreflang is a language tag or an array of such.',
    inAll(
      (document, isLinkage) => onlyObjects(linkParts(document, isLinkage)).filter(({ value }) => 'hreflang' in value),
      ({ hreflang }) =>
        [hreflang].flat().every((tag) => LANGUAGE_TAG.test(text(tag))) ? undefined : `hreflang ${short(hreflang)}`,
    ),
  ),

  must(
    'link-relations',
    'Link Objects [793-810]',
    'rel is one link relation type: a registered name, or a URI.',
    inAll(
      (document, isLinkage) => onlyObjects(linkParts(document, isLinkage)).filter(({ value }) => 'rel' in value),
      ({ rel }) => (RELATION_NAME.test(text(rel)) || isUri(rel ?? null) ? undefined : `rel ${short(rel)}`),
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

async function selfLink(server: TargetServer, resource: JsonObject) {
  const self = object(resource['links'])['self']
  if (!urlOf(self)) return
  const answer = await server.follow(self)
  demandStatus(answer, 200)
  const found = object(answer.document['data'])
  demandEqual(keyOf(found), keyOf(resource), answer.at, 'the resource')
}
