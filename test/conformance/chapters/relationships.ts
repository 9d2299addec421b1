import type { Change } from '../api.ts'
import { applies, demand, demandEqual, demandRefusal, demandStatus, each } from '../check.ts'
import type { Answer } from '../client.ts'
import { type Json, type JsonObject, short } from '../json.ts'
import { chapter } from '../obligation.ts'
import type { TargetServer } from '../target.ts'
import type { Linked } from '../target-reader.ts'
import { dataOf, identifierOf, keyOf, sameSet } from '../walk.ts'
import { candidates, eachChangeable, lostLinkage, read } from '../writing.ts'

const { must } = chapter('relationships')

const DONE = [200, 202, 204]

const send = (server: TargetServer, by: Change, { self }: Linked, data: Json) =>
  server.send(by, self, { body: { data } })

const linkage = (server: TargetServer, { self }: Linked) => server.allDataAt(self)

async function demandLinkage(server: TargetServer, linked: Linked, wanted: JsonObject[], at: string) {
  const found = await linkage(server, linked)
  demand(
    sameSet(found, wanted),
    at,
    `linkage ${found.map(keyOf).join(', ') || 'nothing'}, not ${wanted.map(keyOf).join(', ') || 'nothing'}`,
  )
}

const CHANGES: Change[] = ['PATCH', 'POST', 'DELETE']

interface Changed {
  linked: Linked
  by: Change
  sent: JsonObject[]
  answer: Answer
}

/** Every change that succeeds: a member set, or members replaced, added and removed. */
const eachChange = (server: TargetServer, check: (changed: Changed) => unknown) =>
  each([false, true], NOTHING_CHANGED, (many) =>
    each(many ? CHANGES : (['PATCH'] as const), NOTHING_CHANGED, (by) =>
      eachChangeable(server, { many, by }, async (linked) => {
        const sent = await candidates(server, linked.relation, 1)
        const answer = await send(server, by, linked, many ? sent : (sent[0] ?? null))
        applies(answer.status < 300, `the change is refused with ${answer.status}`)
        await check({ linked, by, sent, answer })
      }),
    ),
  )

const NOTHING_CHANGED = 'no relationship can be changed'

export const relationships = [
  must('status', 'Updating Relationships [1978-2008]', 'A change that succeeds gives 200, 202 or 204.', (server) =>
    eachChange(server, ({ answer }) => demandStatus(answer, ...DONE)),
  ),

  must(
    'content-of-200',
    'Updating Relationships [1978]',
    'With 200 comes the linkage as it now is, or meta and no data.',
    (server) =>
      eachChange(server, async ({ linked, answer: { at, status, document } }) => {
        applies(status === 200, 'no change gives 200')
        if (!('data' in document)) return demand('meta' in document, at, `neither data nor meta: ${short(document)}`)
        const shown = dataOf(document['data'])
        const now = dataOf((await server.get(linked.self)).document['data'])
        demand(sameSet(shown, now), at, `data ${short(shown)}, but the linkage is ${short(now)}`)
      }),
  ),

  must(
    'as-sent-with-204',
    'Updating Relationships [1978-2008]',
    'With 204 the relationship is as was sent: what else was changed is shown with 200.',
    (server) =>
      eachChange(server, async ({ linked, by, sent, answer: { at, status } }) => {
        applies(status === 204, 'no change gives 204')
        const now = await linkage(server, linked)
        const isThere = (it: JsonObject) => now.some((held) => keyOf(held) === keyOf(it))
        const isRight = by === 'PATCH' ? sameSet(now, sent) : sent.every((it) => isThere(it) === (by === 'POST'))
        demand(isRight, at, `${short(sent)} was sent, and the linkage is ${short(now)}`)
      }),
  ),

  must('local-id', 'Identification [433]', 'A lid that stands for no resource of the document is refused.', (server) =>
    each([false, true], NOTHING_CHANGED, (many) =>
      eachChangeable(server, { many, by: 'PATCH' }, async (linked) => {
        const identifier = { type: linked.relation.to ?? 'nonesuch', lid: 'nowhere' }
        demandRefusal(await send(server, 'PATCH', linked, many ? [identifier] : identifier))
      }),
    ),
  ),

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
        demandStatus(await send(server, 'PATCH', linked, lostLinkage(server, linked.relation)), 404)
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
            await server.send('PATCH', `${type.path}/${server.missingId}/relationships/${relation.name}`, { body }),
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
