import { randomUUID } from 'node:crypto'
import { isObject, type Json, type JsonObject, object, objects } from '../json.ts'
import type { Spoil } from '../reference-server.ts'
import { MISSING_ID } from '../target.ts'
import { dataOf } from '../walk.ts'
import type { ApiRequest, Reply } from './requests.ts'

type When = (request: ApiRequest) => boolean

const on =
  (method: string, path: RegExp): When =>
  (request) =>
    request.method === method && path.test(request.segments.join('/'))
const both =
  (...whens: When[]): When =>
  (request) =>
    whens.every((when) => when(request))

const query =
  (part: string): When =>
  ({ url }) =>
    decodeURIComponent(url.search).includes(part)
const header =
  (name: 'accept' | 'content-type', part: string): When =>
  ({ headers }) =>
    (headers[name] ?? '').includes(part)
const body =
  (fits: (data: Json | undefined, whole: JsonObject) => boolean): When =>
  (request) =>
    isObject(request.body) && fits(request.body['data'], request.body)

const anything: When = () => true
const collection = on('GET', /^[\w-]+$/)
const member = on('GET', /^[\w-]+\/[^/]+$/)
const creation = on('POST', /^[\w-]+$/)
const update = on('PATCH', /^[\w-]+\/[^/]+$/)
const removal = on('DELETE', /^[\w-]+\/[^/]+$/)
const change = on('PATCH', /\/relationships\//)
const related = on('GET', /^[\w-]+\/[^/]+\/[^/]+$/)

/** Changes what is answered. */
const reply =
  (when: When, alter: (reply: Reply, request: ApiRequest) => Reply): Spoil =>
  (request, answer) => {
    const answered = answer(request)
    return when(request) ? alter(answered, request) : answered
  }

/** Changes the request. */
const request =
  (when: When, alter: (document: JsonObject) => JsonObject): Spoil =>
  (it, answer) =>
    answer(when(it) ? { ...it, body: alter(object(it.body)) } : it)

/** Answers without a look at the request. */
const instead =
  (when: When, status: number, document: JsonObject = { meta: {} }): Spoil =>
  (it, answer) =>
    when(it) ? { status, document, headers: { 'content-type': 'application/vnd.api+json' } } : answer(it)

const refused = (when: When, status = 400) => instead(when, status, { errors: [{ status: String(status) }] })
const noChange = (when: When) => instead(when, 200)

const status = (from: number, to: number, when: When = anything): Spoil =>
  reply(when, (it) => (it.status === from ? { ...it, status: to } : it))

/** Changes the document that is answered. */
const document = (when: When, alter: (document: JsonObject, request: ApiRequest) => Json): Spoil =>
  reply(when, (it, given) => (isObject(it.document) ? { ...it, document: alter(it.document, given) } : it))

const root = (members: JsonObject, when: When = anything) => document(when, (it) => ({ ...it, ...members }))

const resources = (alter: (resource: JsonObject) => JsonObject, when: When = anything) =>
  document(when, (it) => {
    const { data } = it
    if (!Array.isArray(data) && !isObject(data)) return it
    return { ...it, data: Array.isArray(data) ? objects(data).map(alter) : alter(data) }
  })

const attributes = (members: JsonObject) =>
  resources((it) => ({ ...it, attributes: { ...object(it['attributes']), ...members } }))

const relationships = (alter: (relationship: JsonObject, name: string) => JsonObject, when: When = anything) =>
  resources((it) => {
    const altered = Object.entries(object(it['relationships'])).map(([name, value]) => [
      name,
      alter(object(value), name),
    ])
    return { ...it, relationships: Object.fromEntries(altered) }
  }, when)

const links = (alter: (links: JsonObject) => JsonObject, when: When = anything) =>
  document(when, (it) => ({ ...it, links: { ...object(it['links']), ...alter(object(it['links'])) } }))

const errors = (alter: (error: JsonObject) => JsonObject) =>
  document(anything, (it) => (it['errors'] ? { ...it, errors: objects(it['errors']).map(alter) } : it))

const without = (name: string, when: When) => document(when, ({ [name]: _, ...rest }) => rest)

const isLost: When = ({ segments }) => segments[1] === MISSING_ID
const typeless = (data: Json | undefined) => isObject(data) && !('type' in data)
const isDataless = body((data) => data === undefined)
const hasBareRelationship = body((data) =>
  Object.values(object(object(data)['relationships'])).some((it) => !('data' in object(it))),
)

/** For each obligation, a server that does not meet it. */
export const spoils: Record<string, Spoil> = {
  'reading.collection': status(200, 203, collection),
  'reading.self-of-document': links(() => ({ self: '/api/nowhere' })),
  'reading.linkage-shown': relationships((it, name) => (name === 'editor' ? { ...it, data: null } : it), collection),
  'reading.empty-relationship': document(on('GET', /relationships\/editor$/), (it) => ({
    ...it,
    data: it['data'] ?? [],
  })),
  'reading.missing-parent': status(404, 200, both(isLost, on('GET', /relationships/))),
  'reading.missing-parent-related': status(404, 200, both(isLost, related)),
  'reading.unknown-relation': status(404, 200, on('GET', /nonesuch$/)),

  'including.present': without('included', both(collection, query('include='))),
  'including.linkage-shown': relationships(({ data: _, ...rest }) => rest, query('include=')),
  'including.several': root({ included: [] }, query(',')),
  'including.on-resource': without('included', both(member, query('include='))),
  'including.on-related': without('included', both(related, query('include='))),

  'sparse-fieldsets.others-whole': document(query('fields['), (it) => ({
    ...it,
    included: objects(it['included']).map((one) => ({ ...one, attributes: {} })),
  })),
  'sorting.ascending': document(query('sort=title'), (it) => ({ ...it, data: dataOf(it['data']).reverse() })),

  'paging.keys': root({ links: {} }, collection),
  'paging.place': resources((it) => ({ ...it, links: { first: '/api/articles' } })),
  'paging.first-has-no-prev': links(({ first, prev }) => ({ prev: prev ?? first ?? null }), collection),
  'paging.prev-leads-back': links(
    ({ prev, self }) => ({ prev: prev ? (self ?? null) : null }),
    both(collection, query('page[number]')),
  ),
  'paging.first-and-last': links(({ first }) => ({ last: first ?? null }), collection),
  'paging.unknown-parameter': instead(query('page[nonesuch]'), 200),
  'paging.unsupported': instead(both(on('GET', /^tags$/), query('page[number]')), 200),

  'creating.status': status(201, 200, creation),
  'creating.location': reply(creation, ({ headers: { location: _, ...headers } = {}, ...rest }) => ({
    ...rest,
    headers,
  })),
  'creating.resource': root({ data: null }, creation),
  'creating.keeps-values': resources(
    (it) => ({ ...it, attributes: { title: 'Another', body: 'Another', name: 'Another' } }),
    creation,
  ),
  'creating.needs-data': instead(both(creation, isDataless), 201),
  'creating.one-resource': instead(both(creation, body(Array.isArray)), 201),
  'creating.needs-type': instead(both(creation, body(typeless)), 201),
  'creating.type-is-text': instead(
    both(
      creation,
      body((data) => object(data)['type'] === 1),
    ),
    201,
  ),
  'creating.own-id': status(403, 422, creation),
  'creating.own-id-taken': status(409, 422, creation),
  'creating.local-id': refused(
    both(
      creation,
      body((data) => 'lid' in object(data)),
    ),
  ),
  'creating.local-id-in-linkage': refused(
    both(
      creation,
      body((data) => JSON.stringify(object(data)['relationships'] ?? {}).includes('"lid"')),
    ),
  ),
  'creating.unknown-local-id': instead(
    both(creation, ({ body: sent }) => JSON.stringify(sent).includes('nowhere')),
    201,
  ),
  'creating.relationship-data': instead(both(creation, hasBareRelationship), 201),
  'creating.missing-related': status(404, 422, creation),

  'updating.status': status(200, 201, update),
  'updating.resource': resources((it) => ({ ...it, id: '0' }), update),
  'updating.relationships-unchanged': request(
    both(
      update,
      body((data) => object(data)['type'] === 'articles'),
    ),
    ({ data }) => ({
      data: { ...object(data), relationships: { tags: { data: [{ type: 'tags', id: '1' }] } } },
    }),
  ),
  'updating.needs-data': noChange(both(update, isDataless)),
  'updating.needs-id': noChange(
    both(
      update,
      body((data) => !('id' in object(data))),
    ),
  ),
  'updating.needs-type': noChange(both(update, body(typeless))),
  'updating.wrong-id': noChange(
    both(
      update,
      body((data) => object(data)['id'] === MISSING_ID),
    ),
  ),
  'updating.missing': status(404, 200, both(update, isLost)),
  'updating.missing-related': status(404, 422, update),
  'updating.relationship-data': noChange(both(update, hasBareRelationship)),
  'updating.to-one': request(update, ({ data }) => ({ data: { ...object(data), relationships: {} } })),
  'updating.unsupported': status(403, 405, update),

  'relationships.status': status(204, 201, change),
  'relationships.content-of-200': document(on('POST', /\/relationships\//), () => ({ data: [] })),
  'relationships.as-sent-with-204': request(both(change, body(Array.isArray)), () => ({ data: [] })),
  'relationships.local-id': noChange(
    both(
      change,
      body((data) => dataOf(data).some((it) => 'lid' in it)),
    ),
  ),
  'relationships.set-to-one': noChange(both(change, body(isObject))),
  'relationships.clear-to-one': noChange(
    both(
      change,
      body((data) => data === null),
    ),
  ),
  'relationships.clear-to-many': noChange(
    both(
      change,
      body((data) => Array.isArray(data) && data.length === 0),
    ),
  ),
  'relationships.needs-data': noChange(both(change, isDataless)),
  'relationships.needs-array': noChange(both(change, body(isObject))),
  'relationships.missing-related': status(404, 422, change),
  'relationships.unsupported': status(403, 405, change),
  'relationships.missing-parent': status(404, 204, both(change, isLost)),

  'deleting.status': status(200, 201, removal),
  'deleting.gone': instead(removal, 200),
  'deleting.no-data': root({ data: null }, removal),
  'deleting.missing': status(404, 200, removal),

  'query-parameters.language': instead(query('lang='), 200),
  'query-parameters.family': instead(query(']x='), 200),
  'query-parameters.unknown-filter': instead(query('filter['), 200),
  'query-parameters.declared-names': document(
    on('GET', /openapi/),
    (it) => JSON.parse(JSON.stringify(it).replaceAll('"page[size]"', '"size"')) as Json,
  ),
  'query-parameters.plain-brackets': refused(({ url }) => url.search.includes('[')),
  'query-parameters.encoded-comma': refused(({ url }) => url.search.includes('%2C')),

  'negotiation.accepted': refused(
    both(collection, ({ headers }) => headers.accept === 'application/vnd.api+json'),
    406,
  ),
  'negotiation.anything-accepted': refused(both(collection, header('accept', '*/*')), 406),
  'negotiation.vary': reply(anything, ({ headers: { vary: _, ...headers } = {}, ...rest }) => ({ ...rest, headers })),
  'negotiation.unknown-profile-accepted': refused(header('accept', 'profile='), 406),
  'negotiation.unknown-profile-sent': refused(header('content-type', 'profile='), 415),
  'negotiation.jsonapi-ignored': refused(body((_, whole) => 'jsonapi' in whole)),

  'extensions.unknown-beside-known-sent': instead(header('content-type', 'ext='), 201),
  'extensions.lists': reply(anything, (it) => ({
    ...it,
    headers: { ...it.headers, 'content-type': 'application/vnd.api+json; profile="https://example.org/a  another"' },
  })),
  'extensions.lists-agree': root({ jsonapi: { version: '1.1', ext: ['https://example.org/ext/stamp'], profile: [] } }),
  'extensions.base-rules-hold': root({ data: [] }, header('accept', 'ext=')),
  'extensions.profile-changes-nothing': root({ data: [] }, header('accept', 'profile=')),

  'document.root': document(member, (it) => [it]),
  'document.has-content': document(member, () => ({ jsonapi: {} })),
  'document.included-with-data': document(anything, (it) => (it['errors'] ? { ...it, included: [] } : it)),
  'document.data-or-errors': document(anything, (it) => (it['errors'] ? { ...it, data: null } : it)),
  'document.root-members': root({ extra: true }),
  'document.resource-members': resources((it) => ({ ...it, extra: true })),
  'document.foreign-keys': attributes({ authorId: '1' }),
  'document.relationship-members': relationships((it) => ({ ...it, extra: true })),
  'document.collection-data': document(collection, (it) => ({ ...it, data: dataOf(it['data'])[0] ?? null })),
  'document.identifiers': relationships((it) => ({ ...it, data: { type: 'tags', id: 1 } })),
  'document.type-names': resources((it) => ({ ...it, type: `_${it['type']}` })),
  'document.attributes': resources((it) => ({ ...it, attributes: [] })),
  'document.fields': attributes({ type: 'twice' }),
  'document.relationship-content': relationships(() => ({})),
  'document.relationship-links': relationships((it) => ({ ...it, links: { about: '/api' } })),
  'document.linkage': relationships((it) => ({ ...it, data: 'tags/1' })),
  'document.linkage-kind': relationships((it) => ({ ...it, data: null })),
  'document.meta': root({ meta: 'text' }),
  'document.links': links(() => ({ about: 1 })),
  'document.link-urls': links(() => ({ about: '' })),
  'document.link-objects': links(() => ({ about: { title: 'Nowhere' } })),
  'document.link-languages': links(() => ({ about: { href: '/api', hreflang: 'no language' } })),
  'document.link-relations': links(() => ({ about: { href: '/api', rel: ['self', 'add'] } })),
  'document.jsonapi': root({ jsonapi: { version: 1 } }),
  'document.unknown-members-ignored': refused(body((_, whole) => 'nonesuch' in whole)),

  'names.not-empty': attributes({ '': 1 }),
  'names.edges': attributes({ _name: 1 }),
  'names.characters': attributes({ 'is.short': true }),
  'names.nested': attributes({ labels: { 'a.b': 1 } }),
  'names.at-members-ignored': refused(body((_, whole) => '@context' in whole)),

  'errors.members': errors((it) => ({ ...it, extra: true })),
  'errors.links': errors((it) => ({ ...it, links: { self: '/api' } })),
  'errors.words': errors((it) => ({ ...it, status: 400 })),
  'errors.pointer': errors((it) => ({ ...it, source: { pointer: '/data/nowhere' } })),
  'errors.title': errors((it) => ({ ...it, title: `Problem ${randomUUID()}` })),
  'errors.source': errors((it) => ({ ...it, source: 'sort' })),
  'errors.parameter': errors((it) => ({ ...it, source: { parameter: 'another' } })),
  'errors.source-given': errors(({ source: _, ...rest }) => rest),
  'errors.status': errors(({ status: _, ...rest }) => rest),
  'errors.status-agrees': errors((it) => ({ ...it, status: '418' })),
}
