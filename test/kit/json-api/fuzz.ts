import fc from 'fast-check'
import type { Route } from '../../../facades/json-api/routes.ts'
import { allResources } from './assistants.ts'

// Texts that no database stores and no parser likes.
const odd = fc.constantFrom(
  '\0',
  'a\0b',
  '\ud800',
  'x\udc00y',
  '\u202e',
  '\ufeff',
  '💥',
  '__proto__',
  'constructor',
  '',
)
const hostile = fc.constantFrom(
  `' or 1=1 --`,
  '$1',
  '%',
  '%00',
  '../..',
  '{{7*7}}',
  '-0',
  '1e400',
  'NaN',
  '9'.repeat(400),
)
const word = fc.oneof(fc.string({ unit: 'binary', maxLength: 20 }), fc.string({ maxLength: 20 }), odd, hostile)
const long = fc.nat(6000).map((length) => 'x'.repeat(length))

const names = allResources.flatMap(({ type, attributes, relations, sorts, includes }) => [
  type,
  ...Object.keys(attributes),
  ...Object.keys(relations),
  ...sorts,
  ...includes,
])
const known = fc.constantFrom(...new Set(names))

const id = fc.oneof(
  { weight: 4, arbitrary: fc.integer({ min: 1, max: 8 }).map(String) },
  { weight: 1, arbitrary: fc.bigInt().map(String) },
  { weight: 1, arbitrary: fc.constantFrom('de_DE', 'open-weights', 'locale', 'public', 'me', 'actions') },
  { weight: 1, arbitrary: fc.constantFrom('1-0123456789abcdef', '2147483648-0123456789abcdef', 'tag of bobs-draft') },
  { weight: 1, arbitrary: word },
)

/** Encodes like a form, which cannot contain a lone surrogate. */
export const encodeParameter = (text: string) => encodeURIComponent(text.toWellFormed())

const parameterName = fc.oneof(
  fc.constantFrom(
    'include',
    'sort',
    'page[size]',
    'page[number]',
    'filter[assigned]',
    'filter[status]',
    'filter[handle]',
    'filter[releaseStage]',
    'locale',
    'page',
  ),
  fc.constantFrom(...allResources.map(({ type }) => `fields[${type}]`)),
  fc
    .tuple(fc.constantFrom('page', 'filter', 'fields', 'sort', 'x'), word)
    .map(([family, name]) => `${family}[${name}]`),
  word,
)
const parameterValue = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .array(
        fc.oneof(
          known,
          known.map((name) => `-${name}`),
        ),
        { maxLength: 4 },
      )
      .map(String),
  },
  { weight: 3, arbitrary: fc.integer({ min: -2, max: 1200 }).map(String) },
  { weight: 1, arbitrary: fc.constantFrom('true', 'false', 'active', 'inactive', 'online', 'unknown') },
  { weight: 2, arbitrary: word },
  { weight: 1, arbitrary: long },
)
const structured = fc
  .array(fc.tuple(parameterName, parameterValue), { maxLength: 4 })
  .map((pairs) => pairs.map(([name, value]) => `${encodeParameter(name)}=${encodeParameter(value)}`).join('&'))
const visible = fc.integer({ min: 33, max: 126 }).map((code) => String.fromCharCode(code))
const rubbish = fc.oneof(
  fc.string({ unit: visible, maxLength: 60 }),
  fc.constantFrom('%', '%zz=%', '&&&=', '[[]]=[', '%ff'),
)

const wholeNumber = fc.integer({ min: 1, max: 100 }).map(String)

const fittingFilters: Partial<Record<string, Record<string, fc.Arbitrary<string>>>> = {
  'ai-tools': {
    'filter[status]': fc.constantFrom('active', 'offline'),
    'filter[assigned]': fc.oneof(id, fc.constant('true')),
  },
  assistants: {
    'filter[handle]': fc.constantFrom('of-ada', 'bobs-draft', 'bobs-shared', 'unknown'),
    'filter[releaseStage]': fc.constantFrom('draft', 'private,organizational', 'organizational,organizational'),
  },
}

/** A query that the address accepts. */
function anyFittingQuery({ method, answers, resource, relation }: Route) {
  const target = allResources.find(({ type }) => type === relation?.of.to) ?? resource
  const isList = method === 'GET' && (relation ? relation.of.many : answers === 'page')
  const anySubset = (words: readonly string[]) =>
    fc.subarray([...words], { maxLength: Math.min(2, words.length) }).map(String)
  const fields = { [`fields[${target.type}]`]: anySubset(Object.keys(target.attributes)) }
  const include = { include: anySubset(target.includes) }
  const page = { 'page[size]': wholeNumber, 'page[number]': fc.constantFrom('1', '2', '1000000') }
  return fc.record<Record<string, string>>(
    {
      ...(answers !== 'nothing' && answers !== 'linkage' && fields),
      ...(method === 'GET' && answers !== 'linkage' && target.entity && include),
      ...(isList && target.entity && { sort: anySubset(target.sorts), ...page }),
      ...(isList && fittingFilters[target.type]),
    },
    { requiredKeys: [] },
  )
}

const anyQuery = (route: Route) =>
  fc.oneof(
    {
      weight: 6,
      arbitrary: anyFittingQuery(route).map((parameters) =>
        Object.entries(parameters)
          .map(([name, value]) => `${encodeParameter(name)}=${encodeParameter(value)}`)
          .join('&'),
      ),
    },
    { weight: route.method === 'GET' ? 4 : 1, arbitrary: structured },
    { weight: 1, arbitrary: rubbish },
  )

const json = fc.oneof(
  fc.jsonValue({ maxDepth: 3, stringUnit: 'binary' }),
  word,
  fc.constantFrom<unknown>(1e308, -1, 2 ** 53, null, [], {}, true, [[[[]]]]),
)
const identifier = fc.record({ type: fc.oneof(known, word), id: fc.oneof(id, json) }, { requiredKeys: [] })
const linkage = fc.oneof(identifier, fc.array(identifier, { maxLength: 3 }), fc.constant(null), json)

/** Valid documents, so that an odd member gets past the other checks. */
const sound: Record<string, { attributes: object; relationships?: object }> = {
  'ai-providers': { attributes: { providerId: 'p', name: 'P', adapter: 'demo' } },
  'ai-models': {
    attributes: { modelId: 'm', label: 'M' },
    relationships: { provider: { data: { type: 'ai-providers', id: '1' } } },
  },
  'ai-model-descriptions': {
    attributes: { locale: 'en_US', description: 'Good' },
    relationships: { model: { data: { type: 'ai-models', id: '1' } } },
  },
  'mcp-servers': { attributes: { serverLabel: 'S', url: 'https://s.example.org' } },
  'system-models': {
    attributes: { modelType: 'default' },
    relationships: { model: { data: { type: 'ai-models', id: '1' } } },
  },
  assistants: { attributes: { name: 'A', handle: 'another', model: 'external' } },
  'assistant-user-prompts': {
    attributes: { text: 'How?' },
    relationships: { assistant: { data: { type: 'assistants', id: '1' } } },
  },
  'system-prompts': { attributes: { promptType: 'default', locale: 'en_US', prompt: 'Be kind' } },
}

function anyDocument({ method, resource, answers, relation }: Route, ownId: string) {
  const { type, attributes, relations } = resource
  if (answers === 'linkage') {
    const members = fc.array(fc.record({ type: fc.constant(relation?.of.to), id }), { maxLength: 4 })
    return fc.record({ data: fc.oneof(members, linkage) })
  }
  const attribute = fc.constantFrom(...Object.keys(attributes))
  const relationName = fc.oneof(fc.constantFrom(...Object.keys(relations), 'none'), word)
  const idOf = method === 'PATCH' ? { id: fc.constant<unknown>(ownId) } : {}
  const value = fc.oneof({ weight: 2, arbitrary: word }, { weight: 1, arbitrary: json })
  const likely = fc.dictionary(attribute, value, { maxKeys: 2 }).map((odd) => ({
    ...sound[type],
    attributes: { ...(method === 'POST' && sound[type]?.attributes), ...odd },
  }))
  const unlikely = fc.record(
    {
      type: fc.oneof(fc.constant<unknown>(type), json),
      id: fc.oneof(fc.constant<unknown>(ownId), json),
      attributes: fc.dictionary(fc.oneof(attribute, word), json, { maxKeys: 3 }),
      relationships: fc.dictionary(relationName, fc.oneof(fc.record({ data: linkage }), json), { maxKeys: 2 }),
      lid: word,
    },
    { requiredKeys: [] },
  )
  const likelyDocument = fc.tuple(likely, fc.record(idOf)).map(([data, id]) => ({ type, ...data, ...id }))
  return fc.record({ data: fc.oneof({ weight: 3, arbitrary: likelyDocument }, { weight: 1, arbitrary: unlikely }) })
}

const anyBody = (route: Route, ownId: string) =>
  fc.oneof(
    { weight: 8, arbitrary: anyDocument(route, ownId).map((document) => JSON.stringify(document)) },
    { weight: 2, arbitrary: json.map((value) => JSON.stringify(value) ?? '') },
    {
      weight: 1,
      arbitrary: fc.constantFrom('', '{', '[[[', '"', 'null', '{"a":1,"a":2}', '{"__proto__":{}}', '\ufeff{}'),
    },
    { weight: 1, arbitrary: fc.nat(3000).map((depth) => '['.repeat(depth) + ']'.repeat(depth)) },
    { weight: 1, arbitrary: fc.nat(3000).map((depth) => `{"data":${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}}`) },
  )

const headerText = fc.string({
  unit: fc.integer({ min: 32, max: 126 }).map((code) => String.fromCharCode(code)),
  maxLength: 30,
})
const anyHeader = (weight: number, common: string) =>
  fc.oneof({ weight, arbitrary: fc.constant(common) }, { weight: 1, arbitrary: headerText })
const someHeaders = fc.record(
  {
    'if-match': anyHeader(1, '*'),
    'if-none-match': anyHeader(1, 'W/"x", "y"'),
    'idempotency-key': anyHeader(1, 'key'),
    'x-app-locale': anyHeader(1, 'de_DE'),
    'accept-language': anyHeader(1, 'de;q=0.9'),
    cookie: anyHeader(1, 'locale=de_DE'),
  },
  { requiredKeys: [] },
)

const headers = fc.oneof({ weight: 4, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: someHeaders })

/** Any request to a route: the id in its address, its query, its body, its headers. */
export const anyRequest = (route: Route) =>
  id.chain((ownId) => fc.tuple(fc.constant(ownId), anyQuery(route), anyBody(route, ownId), headers))
