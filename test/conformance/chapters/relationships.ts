import { applies, chapter, demand, demandEqual, demandRefusal, demandStatus, each } from '../check.ts'
import type { Json, JsonObject } from '../json.ts'
import type { Change } from '../openapi.ts'
import { type Linked, nobody, type TargetServer } from '../target.ts'
import { dataOf, identifierOf, keyOf, sameSet } from '../walk.ts'
import { candidates, eachChangeable, lostLinkage, read } from '../writing.ts'

const { must } = chapter('relationships')

const DONE = [200, 202, 204]

const send = (server: TargetServer, by: Change, { self }: Linked, data: Json) =>
  server.send(by, self, { body: { data } })

const linkage = async (server: TargetServer, { self }: Linked) => dataOf((await server.get(self)).document['data'])

async function demandLinkage(server: TargetServer, linked: Linked, wanted: JsonObject[], at: string) {
  const found = await linkage(server, linked)
  demand(
    sameSet(found, wanted),
    at,
    `linkage ${found.map(keyOf).join(', ') || 'nothing'}, not ${wanted.map(keyOf).join(', ') || 'nothing'}`,
  )
}

const CHANGES: Change[] = ['PATCH', 'POST', 'DELETE']

export const relationships = [
  must('set-to-one', 'Updating To-One Relationships [1837]', 'PATCH sets a to-one relationship.', (server) =>
    eachChangeable(server, { many: false, by: 'PATCH' }, async (linked) => {
      const data = (await candidates(server, linked.relation, 2)).at(-1) ?? null
      const answer = await send(server, 'PATCH', linked, data)
      demandStatus(answer, ...DONE)
      await demandLinkage(server, linked, dataOf(data), answer.at)
    }),
  ),

  must(
    'clear-to-one',
    'Updating To-One Relationships [1837]',
    'PATCH with null clears a to-one relationship, or is refused.',
    (server) =>
      eachChangeable(server, { many: false, by: 'PATCH' }, async (linked) => {
        const [data = {}] = await candidates(server, linked.relation, 1)
        demandStatus(await send(server, 'PATCH', linked, data), ...DONE)
        const answer = await send(server, 'PATCH', linked, null)
        applies(answer.status < 300, 'no to-one relationship can be empty')
        await demandLinkage(server, linked, [], answer.at)
      }),
  ),

  must(
    'related-link-stable',
    'Related Resource Links [522]',
    'The related link of a relationship does not change with its content.',
    (server) =>
      eachChangeable(server, { many: false, by: 'PATCH' }, async (linked) => {
        const [one = {}, other = {}] = await candidates(server, linked.relation, 2)
        const links: string[] = []
        for (const data of [one, other]) {
          demandStatus(await send(server, 'PATCH', linked, data), ...DONE)
          links.push(
            server.linkedBy(linked.type, await read(server, linked.type, linked.resource), linked.relation.name)
              .related,
          )
        }
        demandEqual(links[1], links[0], linked.self, 'the related link')
      }),
  ),

  must(
    'replace',
    'Updating To-Many Relationships [1879]',
    'PATCH replaces all members of a to-many relationship, or fails.',
    (server) =>
      eachChangeable(server, { many: true, by: 'PATCH' }, async (linked) => {
        const data = await candidates(server, linked.relation, 2)
        const answer = await send(server, 'PATCH', linked, data)
        applies(answer.status !== 403, 'members are not replaced')
        demandStatus(answer, ...DONE)
        await demandLinkage(server, linked, data, answer.at)
      }),
  ),

  must(
    'clear-to-many',
    'Updating To-Many Relationships [1879]',
    'PATCH with [] takes all members away, or fails.',
    (server) =>
      eachChangeable(server, { many: true, by: 'PATCH' }, async (linked) => {
        const first = await send(server, 'PATCH', linked, await candidates(server, linked.relation, 1))
        applies(first.status !== 403, 'members are not replaced')
        demandStatus(first, ...DONE)
        const answer = await send(server, 'PATCH', linked, [])
        demandStatus(answer, ...DONE)
        await demandLinkage(server, linked, [], answer.at)
      }),
  ),

  must('add', 'Updating To-Many Relationships [1912]', 'POST adds members and keeps those that are there.', (server) =>
    eachChangeable(server, { many: true, by: 'POST' }, async (linked, before) => {
      const data = await candidates(server, linked.relation, 2)
      const [first = {}, second = {}] = data
      const held = before.map(identifierOf)
      demandStatus(await send(server, 'POST', linked, [first]), ...DONE)
      const answer = await send(server, 'POST', linked, [second])
      demandStatus(answer, ...DONE)
      const wanted = new Map([...held, ...data].map((it) => [keyOf(it), it]))
      await demandLinkage(server, linked, [...wanted.values()], answer.at)
    }),
  ),

  must(
    'add-present',
    'Updating To-Many Relationships [1921]',
    'POST of a member that is there succeeds and adds no second one.',
    (server) =>
      eachChangeable(server, { many: true, by: 'POST' }, async (linked) => {
        const data = await candidates(server, linked.relation, 1)
        demandStatus(await send(server, 'POST', linked, data), ...DONE)
        const before = await linkage(server, linked)
        const answer = await send(server, 'POST', linked, data)
        demandStatus(answer, ...DONE)
        await demandLinkage(server, linked, before, answer.at)
      }),
  ),

  must(
    'remove',
    'Updating To-Many Relationships [1943]',
    'DELETE takes the named members away and keeps the others.',
    (server) =>
      eachChangeable(server, { many: true, by: 'DELETE' }, async (linked) => {
        applies(linked.relation.changes.has('POST'), 'members are not added')
        const data = await candidates(server, linked.relation, 2)
        demandStatus(await send(server, 'POST', linked, data), ...DONE)
        const rest = (await linkage(server, linked)).filter((it) => keyOf(it) !== keyOf(data[0] ?? {}))
        const answer = await send(server, 'DELETE', linked, data.slice(0, 1))
        demandStatus(answer, ...DONE)
        await demandLinkage(server, linked, rest, answer.at)
      }),
  ),

  must(
    'remove-absent',
    'Updating To-Many Relationships [1946]',
    'DELETE of a member that is not there succeeds.',
    (server) =>
      eachChangeable(server, { many: true, by: 'DELETE' }, async (linked) => {
        const data = await candidates(server, linked.relation, 1)
        demandStatus(await send(server, 'DELETE', linked, data), ...DONE)
        demandStatus(await send(server, 'DELETE', linked, data), ...DONE)
      }),
  ),

  must('needs-data', 'Updating Relationships [1837, 1875]', 'A change without data is refused.', (server) =>
    each([false, true], 'no relationship can be changed', (many) =>
      eachChangeable(server, { many, by: 'PATCH' }, async (linked) =>
        demandRefusal(await server.send('PATCH', linked.self, { body: { meta: {} } })),
      ),
    ),
  ),

  must(
    'needs-array',
    'Updating To-Many Relationships [1875]',
    'Members of a to-many relationship come as an array.',
    (server) =>
      each(CHANGES, 'no to-many relationship can be changed', (by) =>
        eachChangeable(server, { many: true, by }, async (linked) => {
          const [data = {}] = await candidates(server, linked.relation, 1)
          demandRefusal(await send(server, by, linked, data))
        }),
      ),
  ),

  must('missing-related', 'Updating Relationships [1788]', 'A member that is not there gives 404.', (server) =>
    each([false, true], 'no relationship can be changed', (many) =>
      eachChangeable(server, { many, by: 'PATCH' }, async (linked) => {
        applies(linked.relation.to !== undefined, 'it is not known what a relationship leads to')
        demandStatus(await send(server, 'PATCH', linked, lostLinkage(linked.relation)), 404)
      }),
    ),
  ),

  must(
    'missing-parent',
    'Updating Relationships [1214]',
    'A relationship of a resource that is not there gives 404.',
    (server) =>
      each([false, true], 'no relationship can be changed', (many) =>
        eachChangeable(server, { many, by: 'PATCH' }, async ({ type, relation }) => {
          const body = { data: many ? [] : null }
          demandStatus(
            await server.send('PATCH', `${type.path}/${nobody}/relationships/${relation.name}`, { body }),
            404,
          )
        }),
      ),
  ),

  must('unsupported', 'Updating Relationships [2008]', 'A change that is not supported gives 403.', async (server) => {
    server.requireWrites()
    const fixed = (await server.linked(1)).filter(
      ({ type, relation, self }) => type.described && self && !relation.changes.has('PATCH'),
    )
    await each(fixed, 'every relationship can be changed', async (linked) => {
      const body = {
        data: await linkage(server, linked).then((data) => (linked.relation.many ? data : (data[0] ?? null))),
      }
      demandStatus(await server.send('PATCH', linked.self, { body }), 403)
    })
  }),
]
