import { randomUUID } from 'node:crypto'
import type { Relation, TargetType } from '../api.ts'
import { applies, demand, demandEqual, demandRefusal, demandStatus, each } from '../check.ts'
import type { Answer } from '../client.ts'
import { isObject, object, objects, short, text } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { keyOf, sameSet, urlOf } from '../walk.ts'
import { lostLinkage, NOTHING_MADE, settable } from '../writing.ts'

const { must, should } = chapter('creating')

const eachType = (server: TargetServer, check: (type: TargetType) => unknown) =>
  each(server.makeable(), NOTHING_MADE, check)

const NO_RELATIONS = 'no relationship can be given'

const created = async (server: TargetServer, type: TargetType): Promise<Answer> =>
  server.create(type, await server.newDocument(type))

/** Failures of a creation are not judged, as the standard does not promise that a known document suffices. */
const isRefused = ({ status }: Answer) => status >= 400 && status < 500

/** A creation with an id that the client chose; not applicable where that is not supported. */
async function withOwnId(server: TargetServer, type: TargetType, id: string): Promise<Answer> {
  const { data } = await server.newDocument(type)
  return server.create(type, { data: { ...data, id } })
}

export const creating = [
  must('status', 'Creating Resources [1537]', 'A creation gives 201, 202 or 204.', (server) => {
    server.requireWrites()
    return each(server.typesWith('create', 'delete'), NOTHING_MADE, async (type) => {
      const answer = await created(server, type)
      applies(!isRefused(answer), `no ${type.name} could be made: ${answer.status} ${short(answer.body)}`)
      demandStatus(answer, 201, 202, 204)
    })
  }),

  must('resource', 'Creating Resources [1537]', 'With 201 comes the resource that was made.', (server) =>
    eachType(server, async (type) => {
      const { at, status, document } = await created(server, type)
      applies(status === 201, 'nothing is made with 201')
      const data = object(document['data'])
      demand(data['type'] === type.name && text(data['id']) !== '', at, `data is ${short(document['data'])}`)
    }),
  ),

  should('location', 'Creating Resources [1541]', 'With 201 comes a Location.', (server) =>
    eachType(server, async (type) => {
      const { at, status, headers } = await created(server, type)
      applies(status === 201, 'nothing is made with 201')
      demand(headers.has('location'), at, 'no Location')
    }),
  ),

  must(
    'location-is-self',
    'Creating Resources [1547]',
    'Location is the same as the self link of the resource.',
    (server) =>
      eachType(server, async (type) => {
        const { at, headers, document } = await created(server, type)
        const self = urlOf(object(object(document['data'])['links'])['self'])
        applies(self !== '' && headers.has('location'), 'no Location beside a self link')
        const absolute = (link: string) => new URL(link, server.url).href
        demandEqual(absolute(headers.get('location') ?? ''), absolute(self), at, 'Location')
      }),
  ),

  must('can-be-read', 'Creating Resources [1537]', 'What was made is there, with what it was given.', (server) =>
    eachType(server, async (type) => {
      const { at, document } = await created(server, type)
      const made = object(document['data'])
      applies(Boolean(made['id']), 'a creation does not answer with a resource')
      const answer = await server.get(server.pathOf(type, made['id']))
      demandStatus(answer, 200)
      const found = object(answer.document['data'])
      demandEqual(keyOf(found), keyOf(made), at, 'the resource')
      demandEqual(found['attributes'], made['attributes'], answer.at, 'attributes')
    }),
  ),

  must(
    'keeps-values',
    'Creating Resources [1465]',
    'A resource made has the attributes that were sent, where they are shown.',
    (server) =>
      eachType(server, async (type) => {
        const sent = await server.newDocument(type)
        const { at, status, document } = await server.create(type, sent)
        const shown = object(object(document['data'])['attributes'])
        applies(status === 201, `no ${type.name} could be made: ${status}`)
        // Masked values are not returned as they were sent.
        const plain = Object.entries(object(sent.data['attributes'])).filter(
          ([name]) => name in shown && !/^\*+$/.test(String(shown[name])),
        )
        for (const [name, value] of plain) demandEqual(shown[name], value, at, name)
      }),
  ),

  must('needs-data', 'Creating Resources [1465]', 'A document without data is refused.', (server) =>
    eachType(server, async (type) => demandRefusal(await server.create(type, { meta: {} }))),
  ),

  must('one-resource', 'Creating Resources [1465]', 'An array in place of one resource object is refused.', (server) =>
    eachType(server, async (type) => {
      const { data } = await server.newDocument(type)
      demandRefusal(await server.create(type, { data: [data] }))
    }),
  ),

  must('needs-type', 'Creating Resources [1465]', 'A resource object without a type is refused.', (server) =>
    eachType(server, async (type) => {
      const { type: _, ...data } = (await server.newDocument(type)).data
      demandRefusal(await server.create(type, { data }))
    }),
  ),

  must('type-is-text', 'Identification [424]', 'A type that is not a string is refused.', (server) =>
    eachType(server, async (type) => {
      const { data } = await server.newDocument(type)
      demandRefusal(await server.create(type, { data: { ...data, type: 1 } }))
    }),
  ),

  must('wrong-type', 'Creating Resources [1607]', 'A type that is not of the collection gives 409.', (server) =>
    eachType(server, async (type) => {
      const { data } = await server.newDocument(type)
      demandStatus(await server.create(type, { data: { ...data, type: 'nonesuch' } }), 409)
    }),
  ),

  should(
    'conflict-details',
    'Creating Resources [1611]',
    'A conflict is told with enough to recognise its source.',
    (server) =>
      eachType(server, async (type) => {
        const { data } = await server.newDocument(type)
        const { at, status, document } = await server.create(type, { data: { ...data, type: 'nonesuch' } })
        applies(status === 409, 'there was no conflict')
        const [error] = objects(document['errors'])
        demand(isObject(error?.['source']) || text(error?.['detail']) !== '', at, `error ${short(error)}`)
      }),
  ),

  must('own-id', 'Client-Generated IDs [1529]', 'An id chosen by the client is taken, or refused with 403.', (server) =>
    eachType(server, async (type) => {
      const id = randomUUID()
      const answer = await withOwnId(server, type, id)
      demandStatus(answer, 201, 202, 204, 403)
      if (answer.status === 201) demandEqual(object(answer.document['data'])['id'], id, answer.at, 'the id')
    }),
  ),

  must('own-id-taken', 'Client-Generated IDs [1604]', 'An id that exists already gives 409.', (server) =>
    eachType(server, async (type) => {
      const id = randomUUID()
      const first = await withOwnId(server, type, id)
      applies(first.status !== 403, 'clients choose no ids')
      demandStatus(await withOwnId(server, type, id), 409)
    }),
  ),

  must('local-id', 'Identification [433]', 'A new resource may carry a lid in place of an id.', (server) =>
    eachType(server, async (type) => {
      const { data } = await server.newDocument(type)
      demandStatus(await server.create(type, { data: { ...data, lid: 'here' } }), 201, 202, 204)
    }),
  ),

  must(
    'local-id-in-linkage',
    'Identification [424-433]',
    'A lid in linkage stands for the resource of the document that carries it.',
    (server) =>
      eachType(server, (type) =>
        each(ownRelations(type), 'no type has a relationship to itself', async (relation) => {
          const answer = await withLocalLinkage(server, type, relation, 'here')
          applies(answer.status !== 403 && answer.status !== 409, 'a resource may not be related to itself')
          demandStatus(answer, 201, 202, 204)
          const made = object(answer.document['data'])
          applies(Boolean(made['id']), 'a creation does not answer with a resource')
          const { self } = server.linkedBy(type, made, relation.name)
          demand(
            sameSet(await server.allDataAt(self), [made]),
            answer.at,
            `${relation.name} is not the resource itself`,
          )
        }),
      ),
  ),

  must(
    'unknown-local-id',
    'Identification [424-433]',
    'A lid in linkage that no resource of the document carries is refused.',
    (server) =>
      eachType(server, (type) =>
        each(settable(type, 'create'), NO_RELATIONS, async (relation) =>
          demandRefusal(await withLocalLinkage(server, type, relation, 'nowhere')),
        ),
      ),
  ),

  must('relationship-data', 'Creating Resources [1492]', 'A relationship given without data is refused.', (server) =>
    eachType(server, (type) =>
      each(settable(type, 'create'), NO_RELATIONS, async ({ name }) => {
        const { data } = await server.newDocument(type)
        const relationships = { ...object(data['relationships']), [name]: { meta: {} } }
        demandRefusal(await server.create(type, { data: { ...data, relationships } }))
      }),
    ),
  ),

  must('missing-related', 'Creating Resources [1599]', 'A related resource that is not there gives 404.', (server) =>
    eachType(server, async (type) => {
      for (const answer of await lostCreations(server, type)) demandStatus(answer, 404)
    }),
  ),

  must(
    'whole',
    'Creating, Updating and Deleting Resources [1451]',
    'A creation that fails leaves nothing behind.',
    (server) =>
      eachType(server, async (type) => {
        // Whatever a creation needs is made beforehand.
        await server.newDocument(type)
        const before = await server.allKeys(type)
        const failed = (await lostCreations(server, type)).filter(({ status }) => status >= 400)
        applies(failed.length > 0, 'no creation failed')
        const left = (await server.allKeys(type)).filter((key) => !before.includes(key))
        demand(left.length === 0, `POST ${type.path}`, `left behind: ${left.join(', ')}`)
      }),
  ),
]

const ownRelations = (type: TargetType) => settable(type, 'create').filter(({ to }) => to === type.name)

/** A creation with a `lid` of its own, and another one, or the same, in its linkage. */
async function withLocalLinkage(server: TargetServer, type: TargetType, { name, to, many }: Relation, lid: string) {
  const { data } = await server.newDocument(type)
  const identifier = { type: to ?? 'nonesuch', lid }
  const relationships = { ...object(data['relationships']), [name]: { data: many ? [identifier] : identifier } }
  return server.create(type, { data: { ...data, lid: 'here', relationships } })
}

/** Creations with a related resource that is not there. */
async function lostCreations(server: TargetServer, type: TargetType): Promise<Answer[]> {
  const relations = settable(type, 'create')
  applies(relations.length > 0, NO_RELATIONS)
  const answers: Answer[] = []
  for (const relation of relations) {
    const { data } = await server.newDocument(type)
    const relationships = { ...object(data['relationships']), [relation.name]: { data: lostLinkage(server, relation) } }
    answers.push(await server.create(type, { data: { ...data, relationships } }))
  }
  return answers
}
