// @module-tag debian

import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Resource } from '../../routers/resource/declare.ts'
import { addAssistant, allResources, releaseForAll, withAssistants } from '../kit/json-api/assistants.ts'
import { type Client, type JsonApiApp, startJsonApi } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'
import { isRequestStatement, watchStatements } from '../kit/statements.ts'

const statements = watchStatements()

const svc = shareResource(() => startJsonApi(withAssistants))

/** The statements of one request without the look-up of its token, which is cached for a while. */
async function statementsOf(client: Client, path: string) {
  statements.take()
  const { status, text } = await client.get(path)
  expect([path, status, status === 200 ? '' : text]).toEqual([path, 200, ''])
  const seen = statements.take()
  expect(seen[0]?.text, 'the first one confirms who asks').toContain('access_tokens')
  return seen.filter(({ name }) => name !== 'find-token-owners')
}

/** Adds so many rows of every type, each linked to many others. */
async function fill({ rows, people, admin }: JsonApiApp, count: number) {
  await rows(
    'truncate ai_providers, ai_models, ai_tools, mcp_servers, ai_model_descriptions, system_models, rooms, assistants cascade',
  )
  await rows(
    `insert into ai_providers (id, provider_id, adapter, name) select n, 'p' || n, 'demo', 'P' || n from generate_series(1, $1::int) n`,
    [count],
  )
  await rows(
    `insert into ai_models (id, provider_id, model_id, label) select n, n, 'm' || n, 'M' || n from generate_series(1, $1::int) n`,
    [count],
  )
  await rows(
    `insert into ai_model_usage_rules (model_id, usage_type) select id, unnest(array['main', 'external']) from ai_models`,
  )
  await rows(
    `insert into ai_model_descriptions (model_id, locale, description) select id, 'en_US', 'Good' from ai_models`,
  )
  await rows(
    `insert into mcp_servers (id, url, server_label) select n, 'u' || n, 'S' || n from generate_series(1, $1::int) n`,
    [count],
  )
  await rows(`insert into ai_tools (id, name, server_id) select n, 't' || n, n from generate_series(1, $1::int) n`, [
    count,
  ])
  await rows(
    `insert into ai_model_tools (model_id, tool_id) select m.id, t.id from ai_models m join ai_tools t on abs(m.id - t.id) < 3`,
  )
  await rows(
    `insert into system_models (model_type, usage_type, model_id) select 'x' || id, 'external', id from ai_models`,
  )
  await rows(`insert into rooms (id, name, slug) select n, 'R', 'r' || n from generate_series(1, $1::int) n`, [count])
  await rows(
    `insert into room_members (room_id, user_id, role) select r.id, person, 'admin' from rooms r, unnest($1::int[]) person`,
    [[people.ada.id, people.admin.id]],
  )
  await rows(
    `insert into room_messages (room_id, member_id, seq, ordinal, content, key_epoch)
     select room_id, min(id), 1, 1, 'c', 0 from room_members group by room_id`,
  )
  await rows(
    `insert into attachments (uuid, uploader_id, message_id, room_id, name, mime, file_type, bytes, client_encrypted, sealed_key)
     select gen_random_uuid(), $1, id, room_id, 'a', 'image/png', 'image', 1, false, '' from room_messages`,
    [people.ada.id],
  )
  // The copies have the texts of the first one, which the service has sealed.
  await releaseForAll(admin, (await addAssistant(admin, 'first', 'm1')).id)
  await rows(
    `insert into assistants (handle, owner_id, audience, published, created_at, updated_at)
     select 'copy-' || n, $1, 'all', 1, now(), now() from generate_series(2, $2::int) n`,
    [people.ada.id, count],
  )
  await rows(
    `insert into assistant_versions (assistant_id, number, name, description, model, texts, tags)
     select copy.id, 1, v.name, v.description, v.model, v.texts, v.tags
       from assistants copy, assistant_versions v where copy.handle <> 'first' and v.number = 3`,
  )
}

/** Number of statements for include paths: `a.b` takes one for `a` and one for `b`, and none for what a row has in itself. */
function steps(of: Resource, include: string): number {
  const taken = include.split(',').flatMap((path) => {
    let at = of
    return path.split('.').flatMap((name, depth, names) => {
      const relation = at.relations[name]
      if (!relation) return []
      at = allResources.find(({ type }) => type === relation.to) ?? at
      return relation.derive ? [] : [names.slice(0, depth + 1).join('.')]
    })
  })
  return new Set(taken).size
}

interface Prepared {
  pid: number
  name: string
  statement: string
  uses: number
}

/** Lists the prepared statements of both connections of the pool. */
async function preparedIn({ rows }: JsonApiApp): Promise<Prepared[]> {
  const look = () =>
    rows<Prepared>(
      `select pg_backend_pid() as pid, name, statement, (generic_plans + custom_plans)::int as uses
         from pg_prepared_statements, pg_sleep(0.3) where statement like 'select%' and name <> ''`,
    )
  const all = (await Promise.all([look(), look()])).flat()
  return all.filter(({ name, statement }) => isRequestStatement({ name, text: statement }))
}

const namesOf = (prepared: readonly Prepared[]) => [...new Set(prepared.map(({ name }) => name))].toSorted()
const usesOf = (prepared: readonly Prepared[]) => prepared.reduce((sum, { uses }) => sum + uses, 0)

/** The addresses of all types that are tables: alone, with each include path, and with all of them. */
const listings = allResources.flatMap((resource) => {
  const { type, entity, page, includes } = resource
  if (!entity || !page) return []
  return [...new Set(['', ...includes, includes.join()])].map((include) => ({
    path: `/${type}?page[size]=${page.max}${include && `&include=${include}`}`,
    steps: steps(resource, include),
  }))
})

test.for([1, 10, 200])('a list of %i rows takes one statement, and one per include path', async (count) => {
  await fill(svc, count)
  expect(listings.length).toBeGreaterThan(15)
  for (const client of [svc.admin, svc.ada]) {
    for (const { path, steps } of listings) {
      const { length } = await statementsOf(client, path)
      expect([path, length]).toEqual([path, 1 + steps])
    }
  }
})

test('a related page takes one more statement, for its parent row', async () => {
  await fill(svc, 200)
  for (const [path, count] of [
    ['/ai-models/100/tools', 2],
    ['/ai-models/100/tools?include=server,models.provider', 5],
    ['/ai-models/100/relationships/tools', 2],
    ['/ai-models/100/provider', 2],
    ['/ai-models/100/provider?include=models.tools', 4],
    ['/ai-models/100/relationships/provider', 2],
    // An attribute on demand takes one statement for all rows.
    ['/rooms/100/messages?fields[room-messages]=readBy', 3],
    ['/rooms/100/messages?fields[room-messages]=content', 2],
  ] as const) {
    expect([path, (await statementsOf(svc.ada, path)).length]).toEqual([path, count])
  }
})

test('a page behind the last takes one more statement, which counts', async () => {
  await fill(svc, 10)
  const path = '/ai-models?page[size]=5&page[number]=9'

  expect(await statementsOf(svc.ada, path)).toHaveLength(2)
  expect((await svc.ada.get(path)).meta['page']).toMatchObject({ total: 10, from: 0 })
  expect(await statementsOf(svc.ada, '/ai-models/5/tools?page[number]=9')).toHaveLength(3)
})

test('one resource takes one statement, and one without a table none', async () => {
  await fill(svc, 10)

  expect(await statementsOf(svc.ada, '/ai-models/5')).toHaveLength(1)
  expect(await statementsOf(svc.ada, '/ai-models/5?include=provider,tools.server,descriptions')).toHaveLength(5)
  expect(await statementsOf(svc.ada, '/room-messages?fields[room-messages]=readBy')).toHaveLength(2)
  expect(await statementsOf(svc.ada, '/users/me')).toHaveLength(1)
  expect(await statementsOf(svc.ada, '/ai-model-flags')).toHaveLength(0)
  expect(await statementsOf(svc.ada, '/translation-labels/en_US')).toHaveLength(0)
})

test('the number of statements of a guest is none at all', async () => {
  statements.take()

  await svc.guest.get('/ai-models?include=provider')
  await svc.guest.get('/translation-labels/en_US')

  expect(statements.take()).toEqual([])
})

test('the number of statements of a refusal is the look at the token', async () => {
  for (const path of ['/ai-models?include=x', '/ai-models?page[size]=x', '/ai-models/x', '/nonsense']) {
    statements.take()
    await svc.ada.get(path)
    expect([path, statements.take().length]).toEqual([path, 1])
  }
})

test('a statement has a name, and is prepared once per connection', async () => {
  await using small = await startJsonApi({ ...withAssistants, DATABASE_POOL: '2' })
  await fill(small, 3)
  const paths = ['/ai-models?include=provider,tools', '/ai-models/1', '/ai-tools?filter[assigned]=2', '/users']
  const readAll = async () => {
    const documents = await Promise.all(paths.map((path) => small.ada.get(path)))
    expect(documents.map(({ status }) => status)).toEqual(paths.map(() => 200))
  }
  for (let round = 0; round < 10; round++) await readAll()
  const before = await preparedIn(small)

  statements.take()
  for (let round = 0; round < 10; round++) await readAll()
  const sent = statements.take()
  const after = await preparedIn(small)

  expect(sent.every(({ name }) => name)).toBe(true)
  expect(namesOf(after)).toEqual(namesOf(before))
  // Each of the two connections prepares each statement at most once.
  expect(new Set(after.map(({ pid, statement }) => `${pid} ${statement}`)).size).toBe(after.length)
  expect(usesOf(after) - usesOf(before)).toBeGreaterThanOrEqual(sent.length)
})

test('a statement has the same text for all callers with the same rights', async () => {
  await fill(svc, 3)
  const path = '/users?include=&sort=username'

  const [ofAda, ofBob] = [await statementsOf(svc.ada, path), await statementsOf(svc.bob, path)]

  expect(ofAda.map(({ text }) => text)).toEqual(ofBob.map(({ text }) => text))
  for (const { values } of ofAda) expect(values).toContain(svc.people.ada.id)
  for (const { values } of ofBob) expect(values).toContain(svc.people.bob.id)
})

test('the text of a statement never holds a value that somebody sent', async () => {
  await fill(svc, 3)
  // A text too long to occur in a statement by chance.
  const number = fc.integer({ min: 100_000_000, max: 999_999_999 }).map(String)
  const hostile = fc
    .tuple(fc.stringMatching(/^[a-z]{12}$/), fc.constantFrom(`' or 1=1 --`, `"; drop table users; --`, '$1', '\\', ''))
    .map(([word, attack]) => `${word}${attack}`)
  const value = fc.oneof(
    number,
    hostile,
    number.map((digits) => `${digits}' --`),
  )
  const places: ((text: string) => [path: string, headers?: Record<string, string>])[] = [
    (text) => [`/ai-tools?filter[assigned]=${text}`],
    (text) => [`/ai-tools?filter[status]=${text}`],
    (text) => [`/ai-models?sort=${text}`],
    (text) => [`/ai-models?sort=-label,${text}`],
    (text) => [`/ai-models?include=${text}`],
    (text) => [`/ai-models?fields[ai-models]=${text}`],
    (text) => [`/ai-models?page[number]=${text}`],
    (text) => [`/ai-models/${text}`],
    (text) => [`/ai-models/${text}/tools`],
    (text) => [`/ai-model-flags/${text}`],
    (text) => [`/translation-labels/${text}`],
    (text) => [`/ai-model-descriptions?locale=${text}`],
    (text) => ['/system-prompts', { 'x-app-locale': decodeURIComponent(text) }],
    (text) => ['/system-prompts', { cookie: `locale=${text}` }],
  ]
  const texts = new Set<string>()

  await fc.assert(
    fc.asyncProperty(value, fc.nat(places.length - 1), async (text, place) => {
      statements.take()
      const [path, headers] = places[place]?.(encodeURIComponent(text)) ?? ['']
      const { status } = await svc.ada.get(path, headers)
      expect([200, 400, 404]).toContain(status)
      for (const statement of statements.take()) {
        expect(statement.text).not.toContain(text)
        texts.add(statement.text)
      }
    }),
    { numRuns: 250 },
  )

  // The number of texts is that of the shapes of queries, not that of the queries.
  expect(texts.size).toBeLessThan(25)
})
