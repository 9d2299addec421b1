import { isObject, type Json, type JsonObject, list, object, objects, text } from './json.ts'

/** A part of a document, with the pointer to it. */
export interface Part<T = JsonObject> {
  value: T
  at: string
}

/** Tells resources apart; whether type and id are texts is judged elsewhere. */
export const keyOf = ({ type, id }: JsonObject) => `${type}/${id}`
export const identifierOf = (resource: JsonObject): JsonObject => ({
  type: resource['type'] ?? null,
  id: resource['id'] ?? null,
})
export const sameSet = (left: JsonObject[], right: JsonObject[]) =>
  left.map(keyOf).sort().join() === right.map(keyOf).sort().join()

const isOne = (data: Json | undefined): data is JsonObject => isObject(data)

/** The objects of primary data or of linkage, one or many. */
export const dataOf = (data: Json | undefined): JsonObject[] => (isOne(data) ? [data] : objects(data))

const dataParts = (data: Json | undefined, at: string): Part[] =>
  isOne(data) ? [{ value: data, at }] : objects(data).map((value, index) => ({ value, at: `${at}/${index}` }))

export const primaryParts = (document: JsonObject) => dataParts(document['data'], '/data')
export const includedParts = (document: JsonObject) => dataParts(document['included'], '/included')

/** All resource objects; primary data counts as such unless it is linkage. */
export const resourceParts = (document: JsonObject, isLinkage: boolean): Part[] => [
  ...(isLinkage ? [] : primaryParts(document)),
  ...includedParts(document),
]

export const relationshipsOf = (resource: JsonObject) =>
  Object.entries(object(resource['relationships'])).flatMap(([name, value]) =>
    isObject(value) ? [{ name, value }] : [],
  )

export const relationshipParts = (document: JsonObject, isLinkage: boolean): Part[] =>
  resourceParts(document, isLinkage).flatMap(({ value, at }) =>
    relationshipsOf(value).map((it) => ({ value: it.value, at: `${at}/relationships/${it.name}` })),
  )

/** All resource identifier objects. */
export const identifierParts = (document: JsonObject, isLinkage: boolean): Part[] => [
  ...(isLinkage ? primaryParts(document) : []),
  ...relationshipParts(document, isLinkage).flatMap(({ value, at }) => dataParts(value['data'], `${at}/data`)),
]

const members = ({ value, at }: Part, name: string): Part<Json>[] =>
  value[name] === undefined ? [] : [{ value: value[name], at: `${at}/${name}` }]

/** Everything that may carry `links` or `meta`. */
function carriers(document: JsonObject, isLinkage: boolean): Part[] {
  const errors = dataParts(list(document['errors']), '/errors')
  const root = { value: document, at: '' }
  return [
    root,
    ...members(root, 'jsonapi').filter((it): it is Part => isObject(it.value)),
    ...resourceParts(document, isLinkage),
    ...relationshipParts(document, isLinkage),
    ...identifierParts(document, isLinkage),
    ...errors,
  ]
}

export const partsNamed = (name: 'links' | 'meta', document: JsonObject, isLinkage: boolean): Part<Json>[] =>
  carriers(document, isLinkage).flatMap((carrier) => members(carrier, name))

/** All links of all links objects. */
export const linkParts = (document: JsonObject, isLinkage: boolean): Part<Json>[] =>
  partsNamed('links', document, isLinkage).flatMap(({ value, at }) =>
    Object.entries(object(value)).map(([name, link]) => ({ value: link, at: `${at}/${name}` })),
  )

/** The URL of a link, whichever of its two forms it has. */
export const urlOf = (link: Json | undefined): string => text(link) || text(object(link)['href'])

/** The names that the service itself chose: of fields, of meta members and of links. */
export function chosenNames(document: JsonObject, isLinkage: boolean): Part<string>[] {
  const holders = [
    ...resourceParts(document, isLinkage).flatMap((part) => [
      ...members(part, 'attributes'),
      ...members(part, 'relationships'),
    ]),
    ...partsNamed('meta', document, isLinkage),
    ...partsNamed('links', document, isLinkage),
  ]
  return holders.flatMap(({ value, at }) => Object.keys(object(value)).map((name) => ({ value: name, at })))
}

/** The names within the values of attributes and of meta members. */
export function nestedNames(document: JsonObject, isLinkage: boolean): Part<string>[] {
  const holders = [
    ...resourceParts(document, isLinkage).flatMap((part) => members(part, 'attributes')),
    ...partsNamed('meta', document, isLinkage),
  ]
  return holders.flatMap(({ value, at }) =>
    Object.entries(object(value)).flatMap(([name, inner]) => namesWithin(inner, `${at}/${name}`)),
  )
}

function namesWithin(value: Json, at: string): Part<string>[] {
  if (Array.isArray(value)) return value.flatMap((item) => namesWithin(item, at))
  if (!isObject(value)) return []
  return Object.entries(value).flatMap(([name, inner]) => [{ value: name, at }, ...namesWithin(inner, `${at}/${name}`)])
}

/** The value that a JSON pointer leads to, undefined where it leads nowhere. */
export function pointTo(document: Json | undefined, pointer: string): Json | undefined {
  if (pointer === '') return document
  const steps = pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  return steps.reduce<Json | undefined>(
    (value, step) => (Array.isArray(value) ? value[Number(step)] : object(value)[step]),
    document,
  )
}
