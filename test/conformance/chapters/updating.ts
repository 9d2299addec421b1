import type { TargetType } from '../api.ts'
import { applies, demand, demandEqual, demandRefusal, demandStatus, each } from '../check.ts'
import { type JsonObject, object } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import { dataOf, identifierOf, keyOf, sameSet } from '../walk.ts'
import { candidates, change, eachOwn, lostLinkage, read, settable, updateOf } from '../writing.ts'

const { must } = chapter('updating')

const patch = (server: TargetServer, type: TargetType, resource: JsonObject, body: JsonObject) =>
  server.send('PATCH', server.pathOf(type, resource['id']), { body })

const NO_RELATIONS = 'no relationship can be changed by an update'

export const updating = [
  must('status', 'Updating Resources [1757]', 'An update gives 200, 202 or 204.', (server) =>
    eachOwn(server, async (type, resource) => {
      const { name, value } = change(type, resource)
      demandStatus(
        await patch(server, type, resource, updateOf(resource, { attributes: { [name]: value } })),
        200,
        202,
        204,
      )
    }),
  ),

  must('takes-effect', 'Updating Resources [1660]', 'What an update changed is changed.', (server) =>
    eachOwn(server, async (type, resource) => {
      const { name, value } = change(type, resource)
      const answer = await patch(server, type, resource, updateOf(resource, { attributes: { [name]: value } }))
      applies(answer.status < 300 && answer.status !== 202, `the update did not succeed: ${answer.status}`)
      demandEqual(object((await read(server, type, resource))['attributes'])[name], value, answer.at, name)
    }),
  ),

  must(
    'resource',
    'Updating Resources [1757]',
    'The resource in the answer is the one updated, as it now is.',
    (server) =>
      eachOwn(server, async (type, resource) => {
        const { name, value } = change(type, resource)
        const { at, status, document } = await patch(
          server,
          type,
          resource,
          updateOf(resource, { attributes: { [name]: value } }),
        )
        applies(status === 200 && 'data' in document, 'no update answers with a resource')
        demandEqual(keyOf(object(document['data'])), keyOf(resource), at, 'the resource')
        demandEqual(object(object(document['data'])['attributes'])[name], value, at, name)
      }),
  ),

  must('missing-unchanged', 'Updating Resources [1660]', 'Attributes that are not sent stay as they are.', (server) =>
    eachOwn(server, async (type, resource) => {
      const { name, value } = change(type, resource)
      const before = object((await read(server, type, resource))['attributes'])
      const { at } = await patch(server, type, resource, updateOf(resource, { attributes: { [name]: value } }))
      const after = object((await read(server, type, resource))['attributes'])
      const lost = Object.keys(before).filter((it) => it !== name && before[it] !== null && after[it] === null)
      demand(lost.length === 0, at, `now null: ${lost.join(', ')}`)
      const others = Object.keys(before).filter((it) => it !== name && !isTime(before[it]))
      for (const other of others) demandEqual(after[other], before[other], at, other)
    }),
  ),

  must(
    'relationships-unchanged',
    'Updating Resources [1690]',
    'Relationships that are not sent stay as they are.',
    (server) =>
      eachOwn(server, async (type, resource) => {
        applies(type.relations.size > 0, 'no relationships')
        const { name, value } = change(type, resource)
        const linkage = async () =>
          Object.entries(object((await read(server, type, resource))['relationships'])).map(([key, it]) => [
            key,
            object(it)['data'],
          ])
        const before = await linkage()
        const { at } = await patch(server, type, resource, updateOf(resource, { attributes: { [name]: value } }))
        demandEqual(await linkage(), before, at, 'the linkage')
      }),
  ),

  must('needs-data', 'Updating Resources [1633]', 'A document without data is refused.', (server) =>
    eachOwn(server, async (type, resource) => demandRefusal(await patch(server, type, resource, { meta: {} }))),
  ),

  must('needs-id', 'Updating Resources [1633]', 'A resource object without an id is refused.', (server) =>
    eachOwn(server, async (type, resource) =>
      demandRefusal(await patch(server, type, resource, { data: { type: type.name, attributes: {} } })),
    ),
  ),

  must('needs-type', 'Updating Resources [1633]', 'A resource object without a type is refused.', (server) =>
    eachOwn(server, async (type, resource) =>
      demandRefusal(await patch(server, type, resource, { data: { id: resource['id'] ?? null, attributes: {} } })),
    ),
  ),

  must('wrong-type', 'Updating Resources [1797]', 'Another type than that of the address gives 409.', (server) =>
    eachOwn(server, async (type, resource) =>
      demandStatus(
        await patch(server, type, resource, updateOf({ ...resource, type: 'nonesuch' }, { attributes: {} })),
        409,
      ),
    ),
  ),

  must('wrong-id', 'Updating Resources [1797]', 'Another id than that of the address gives 409.', (server) =>
    eachOwn(server, async (type, resource) =>
      demandStatus(
        await patch(server, type, resource, updateOf({ ...resource, id: server.missingId }, { attributes: {} })),
        409,
      ),
    ),
  ),

  must('missing', 'Updating Resources [1785]', 'An update of what is not there gives 404.', (server) =>
    eachOwn(server, async (type, resource) => {
      const { name, value } = change(type, resource)
      const lost = { type: type.name, id: server.missingId }
      demandStatus(await patch(server, type, lost, updateOf(lost, { attributes: { [name]: value } })), 404)
    }),
  ),

  must('missing-related', 'Updating Resources [1788]', 'A related resource that is not there gives 404.', (server) =>
    eachOwn(server, (type, resource) =>
      each(settable(type, 'update'), NO_RELATIONS, async (relation) => {
        const relationships = { [relation.name]: { data: lostLinkage(server, relation) } }
        demandStatus(await patch(server, type, resource, updateOf(resource, { relationships })), 404)
      }),
    ),
  ),

  must(
    'whole',
    'Creating, Updating and Deleting Resources [1451]',
    'An update that fails in one part changes nothing.',
    (server) =>
      eachOwn(server, (type, resource) =>
        each(settable(type, 'update'), NO_RELATIONS, async (relation) => {
          const { name, value } = change(type, resource)
          const relationships = { [relation.name]: { data: lostLinkage(server, relation) } }
          const answer = await patch(
            server,
            type,
            resource,
            updateOf(resource, { attributes: { [name]: value }, relationships }),
          )
          applies(answer.status >= 400, 'the update did not fail')
          demandEqual(
            object((await read(server, type, resource))['attributes'])[name],
            object(resource['attributes'])[name],
            answer.at,
            name,
          )
        }),
      ),
  ),

  must('relationship-data', 'Updating Resources [1690]', 'A relationship given without data is refused.', (server) =>
    eachOwn(server, (type, resource) =>
      each(settable(type, 'update'), NO_RELATIONS, async ({ name }) => {
        demandRefusal(
          await patch(server, type, resource, updateOf(resource, { relationships: { [name]: { meta: {} } } })),
        )
      }),
    ),
  ),

  must('to-one', 'Updating Resources [1690]', 'An update sets a to-one relationship.', (server) =>
    eachOwn(server, (type, resource) =>
      each(
        settable(type, 'update').filter(({ many }) => many === false),
        'no to-one relationship can be changed by an update',
        async (relation) => {
          const data = (await candidates(server, relation, 2)).at(-1) ?? null
          const answer = await patch(
            server,
            type,
            resource,
            updateOf(resource, { relationships: { [relation.name]: { data } } }),
          )
          // A server may know rules of its own that this one goes against.
          applies(answer.status !== 409, 'the update contradicts another resource')
          demandStatus(answer, 200, 202, 204)
          const { self } = server.linkedBy(type, resource, relation.name)
          demandEqual(identifierOf(object((await server.get(self)).document['data'])), data, answer.at, relation.name)
        },
      ),
    ),
  ),

  must(
    'to-many',
    'Updating Resources [1743]',
    'A to-many relationship is replaced as a whole, or the update is refused as a whole.',
    (server) =>
      eachOwn(server, (type, resource) =>
        each(
          settable(type, 'update').filter(({ many }) => many),
          'no to-many relationship can be changed by an update',
          async (relation) => {
            const data = await candidates(server, relation, 2)
            const { name, value } = change(type, resource)
            const answer = await patch(
              server,
              type,
              resource,
              updateOf(resource, { attributes: { [name]: value }, relationships: { [relation.name]: { data } } }),
            )
            const now = await read(server, type, resource)
            const isChanged = object(now['attributes'])[name] === value
            demand(
              isChanged === answer.status < 300,
              answer.at,
              `status ${answer.status}, but ${name} is ${isChanged ? '' : 'not '}changed`,
            )
            applies(answer.status < 300, 'no update replaces a to-many relationship')
            const { self } = server.linkedBy(type, resource, relation.name)
            demand(
              sameSet(dataOf((await server.get(self)).document['data']), data),
              answer.at,
              `${relation.name} is not what was sent`,
            )
          },
        ),
      ),
  ),

  must('unsupported', 'Updating Resources [1780]', 'An update that is not supported gives 403.', (server) => {
    server.requireWrites()
    const fixed = server.typesWith('get').filter(({ described, verbs }) => described && !verbs.has('update'))
    return each(fixed, 'every type can be updated', async (type) => {
      const resource = await server.sample(type)
      demandStatus(await patch(server, type, resource, updateOf(resource, { attributes: {} })), 403)
    })
  }),
]

/** Times of change may change. */
const isTime = (value: unknown) => typeof value === 'string' && /^\d{4}-\d\d-\d\dT/.test(value)
