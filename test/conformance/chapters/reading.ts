import { applies, demand, demandEqual, demandStatus, each } from '../check.ts'
import { object, short } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import type { Linked } from '../target-reader.ts'
import { dataOf, keyOf, linkParts, sameSet, urlOf } from '../walk.ts'

const { must } = chapter('reading')

const NO_RELATIONS = 'no resource has relationships'

/** Relations with a related link, and what it leads to. */
const eachRelated = async (server: TargetServer, check: (linked: Linked) => unknown) =>
  each(
    (await server.linked()).filter(({ related }) => related),
    NO_RELATIONS,
    check,
  )

const eachLinkage = async (server: TargetServer, check: (linked: Linked) => unknown) =>
  each(
    (await server.linked()).filter(({ self }) => self),
    NO_RELATIONS,
    check,
  )

const dataAt = async (server: TargetServer, url: string) => {
  const answer = await server.get(url)
  demandStatus(answer, 200)
  return { answer, data: answer.document['data'] }
}

const kindIsRight = (many: boolean | undefined, data: unknown) =>
  many === undefined || (many ? Array.isArray(data) : data !== undefined && !Array.isArray(data))

export const reading = [
  must('collection', 'Fetching Resources [993]', 'A collection is read with status 200.', (server) =>
    each(server.typesWith('list'), 'no collection can be read', async (type) =>
      demandStatus(await server.list(type), 200),
    ),
  ),

  must(
    'resource',
    'Fetching Resources [996]',
    'A resource is read with status 200, and is the one that was asked for.',
    (server) =>
      each(server.typesWith('get'), 'no resource can be read', async (type) => {
        const resource = await server.sample(type)
        const { answer, data } = await dataAt(server, server.pathOf(type, resource['id']))
        demandEqual(keyOf(object(data)), keyOf(resource), answer.at, 'the resource')
      }),
  ),

  must('missing-404', 'Fetching Resources [1096]', 'A resource that is not there gives 404.', (server) =>
    each(server.typesWith('get'), 'no resource can be read', async (type) => {
      demandStatus(await server.get(server.pathOf(type, server.missingId)), 404)
    }),
  ),

  must('self-of-document', 'Fetching Data [962]', 'The self link of a document can be read.', (server) =>
    each(server.typesWith('list'), 'no collection can be read', async (type) => {
      const self = object((await server.list(type)).document['links'])['self']
      applies(Boolean(urlOf(self)), 'no document has a self link')
      demandStatus(await server.follow(self), 200)
    }),
  ),

  must('related', 'Fetching Resources [962]', 'Related links can be read.', (server) =>
    eachRelated(server, async ({ related }) => demandStatus(await server.get(related), 200)),
  ),

  must(
    'related-kind',
    'Fetching Resources [1040]',
    'A to-many related link gives an array, a to-one link one resource or null.',
    (server) =>
      eachRelated(server, async ({ related, relation }) => {
        const { answer, data } = await dataAt(server, related)
        demand(kindIsRight(relation.many, data), answer.at, `data is ${short(data)}`)
      }),
  ),

  must(
    'empty-to-one',
    'Fetching Resources [1096]',
    'The related link of an empty to-one relationship gives 200 and null.',
    (server) =>
      eachRelated(server, async ({ related, self, relation }) => {
        applies(relation.many === false && self !== '', 'no to-one relationship')
        const linkage = (await server.get(self)).document['data']
        applies(linkage === null, 'no to-one relationship is empty')
        const { answer, data } = await dataAt(server, related)
        demandEqual(data, null, answer.at, 'data')
      }),
  ),

  must(
    'linkage',
    'Fetching Relationships [1112]',
    'Relationship links give linkage: identifiers and nothing more.',
    (server) =>
      eachLinkage(server, async ({ self, relation }) => {
        const { answer, data } = await dataAt(server, self)
        demand(kindIsRight(relation.many, data), answer.at, `data is ${short(data)}`)
        const whole = dataOf(data).find((it) => 'attributes' in it || 'relationships' in it)
        demand(whole === undefined, answer.at, `a resource object, not an identifier: ${short(whole)}`)
      }),
  ),

  must(
    'linkage-agrees',
    'Fetching Relationships [1136]',
    'A relationship link and the related link speak of the same resources.',
    (server) =>
      eachLinkage(server, async ({ self, related }) => {
        applies(related !== '', 'no related link')
        const linkage = await server.allDataAt(self)
        const resources = await server.allDataAt(related)
        demand(sameSet(linkage, resources), self, 'other resources than at the related link')
      }),
  ),

  must(
    'linkage-shown',
    'Resource Linkage [530]',
    'Linkage within a resource is that of its relationship link.',
    (server) =>
      eachLinkage(server, async ({ self, relation, resource }) => {
        const shown = object(object(resource['relationships'])[relation.name])['data']
        applies(shown !== undefined, 'no resource shows linkage')
        const { answer, data } = await dataAt(server, self)
        const isPaged = linkParts(answer.document, true).some(
          ({ at, value }) => /(next|last)$/.test(at) && value !== null,
        )
        demand(
          isPaged || sameSet(dataOf(shown), dataOf(data)),
          answer.at,
          `linkage ${short(data)}, but ${short(shown)} in the resource`,
        )
      }),
  ),

  must(
    'empty-relationship',
    'Fetching Relationships [1222]',
    'An empty relationship is read with status 200, as null or [].',
    (server) =>
      eachLinkage(server, async ({ self, related, relation }) => {
        applies(related !== '' && relation.many !== undefined, NO_RELATIONS)
        applies(dataOf((await server.get(related)).document['data']).length === 0, 'no relationship is empty')
        const { answer, data } = await dataAt(server, self)
        demandEqual(data, relation.many ? [] : null, answer.at, 'data')
      }),
  ),

  must(
    'missing-parent',
    'Fetching Relationships [1214]',
    'Relationship links of a resource that is not there give 404.',
    (server) =>
      each(relationsOf(server, 'linkage'), NO_RELATIONS, async ({ path, name }) => {
        demandStatus(await server.get(`${path}/${server.missingId}/relationships/${name}`), 404)
      }),
  ),

  must(
    'missing-parent-related',
    'Fetching Resources [1096]',
    'Related links of a resource that is not there give 404.',
    (server) =>
      each(relationsOf(server, 'related'), NO_RELATIONS, async ({ path, name }) => {
        demandStatus(await server.get(`${path}/${server.missingId}/${name}`), 404)
      }),
  ),

  must(
    'unknown-relation',
    'Fetching Relationships [1214]',
    'A relationship that a type does not have gives 404.',
    (server) =>
      each(server.typesWith('get'), 'no resource can be read', async (type) => {
        const { id } = await server.sample(type)
        demandStatus(await server.get(`${server.pathOf(type, id)}/relationships/nonesuch`), 404)
      }),
  ),
]

const relationsOf = ({ types }: TargetServer, kind: 'linkage' | 'related') =>
  types.flatMap(({ path, relations }) =>
    [...relations.values()].filter((it) => it[kind]).map(({ name }) => ({ path, name })),
  )
