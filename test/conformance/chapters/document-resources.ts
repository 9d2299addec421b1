import { applies, demandEqual, demandStatus, each } from '../check.ts'
import { identity, inAll, onlyMembers } from '../every-document.ts'
import { isObject, type JsonObject, object, short, text } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { keyOf, relationshipsOf, resourceParts, urlOf } from '../walk.ts'
import { isNameLegal } from './names.ts'

const { must, should } = chapter('document')

const isForeignKey = (name: string, relation: string) =>
  new RegExp(`^${relation.replace(/[^\w]/g, '.')}[-_]?id$`, 'i').test(name)

/** Attributes that are named like a key of a related resource, and have its id. */
const foreignKeys = (resource: JsonObject): string[] =>
  relationshipsOf(resource).flatMap(({ name: relation, value: { data } }) =>
    Object.entries(object(resource['attributes']))
      .filter(([name, value]) => isForeignKey(name, relation) && isObject(data) && String(value) === data['id'])
      .map(([name]) => name),
  )

export const resourceObjects = [
  must(
    'resource-members',
    'Resource Objects [281]',
    'Resource objects have no members but those of the standard.',
    inAll(resourceParts, onlyMembers('type', 'id', 'lid', 'attributes', 'relationships', 'links', 'meta')),
  ),

  must(
    'type-and-id',
    'Identification [424]',
    'Resource objects have a type and an id, both strings.',
    inAll(resourceParts, identity),
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

  must('self-links', 'Resource Links [596]', 'GET on the self link of a resource gives that resource.', (server) =>
    each(server.types, 'no types are known', async (type) => {
      for (const resource of (await server.samples(type)).slice(0, 2)) await selfLink(server, resource)
      const [first] = await server.samples(type)
      applies(Boolean(urlOf(object(first?.['links'])['self'])), 'no resource has a self link')
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
