import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { selfServicePaths } from '../../routers/core/audit.ts'
import { AuditedCall } from '../../routers/core/audited-call.ts'
import { runInTransaction } from '../../routers/core/changes.ts'
import { createContext } from '../../routers/core/context.ts'
import { appRouter } from '../../routers/index.ts'
import { writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { addAccount, openBrowser, signIn } from '../kit/browser.ts'
import { adaFlags, openHost } from '../kit/command-line.ts'
import { cloneDatabase } from '../kit/database.ts'
import { startJsonApi, toMany } from '../kit/json-api/client.ts'
import { shareResource } from '../kit/share-resource.ts'

interface Entry {
  seq: number
  act: string
  outcome: string
  actor: string
  subject: string | null
  origin: Record<string, unknown> | null
  change: Record<string, unknown> | null
}

const svc = shareResource(() =>
  startJsonApi({ LOGIN_ATTEMPTS_PER_ACCOUNT: '1000', LOGIN_ATTEMPTS_PER_ADDRESS: '1000' }),
)

/** Reads the log as an administrator. */
async function listed(filters: object): Promise<Entry[]> {
  const input = encodeURIComponent(JSON.stringify(filters))
  const { token } = svc.people.admin
  const answer = await svc.send('GET', `/trpc/audit.list?input=${input}`, { token })
  expect(answer.status).toBe(200)
  return ((await answer.json()) as { result: { data: { entries: Entry[] } } }).result.data.entries
}

const verified = () => svc.host.audit.verify()

describe('the audit log tells', () => {
  test('who signed in, how, and from which network', async () => {
    const { id } = await signIn(svc, 'grace')

    await expect
      .poll(() => listed({ act: 'sessions.login', subject: `user:${id}` }))
      .toMatchObject([
        { outcome: 'ok', actor: `user:${id}`, origin: { address: '127.0.0.0/24' }, change: { method: 'password' } },
      ])
  })

  test('the first ten failures of a minute singly, and the others as a sum', async () => {
    await using own = await startJsonApi({ LOGIN_ATTEMPTS_PER_ACCOUNT: '1000', LOGIN_ATTEMPTS_PER_ADDRESS: '1000' })
    const { id } = await addAccount(own, 'alan')
    const browser = openBrowser(own.url)
    for (let tries = 0; tries < 14; tries++) expect((await browser.login('alan', 'wrong')).status).not.toBe(200)
    const rows = () =>
      own.rows<{ subject: string; change: string | null }>(
        `select subject, change from audit_entries where outcome in ('login_failed', 'too_many_requests') order by seq`,
      )

    await own.services.process.audit.flush()

    const entries = await rows()
    expect(new Set(entries.map(({ subject }) => subject))).toEqual(new Set([`user:${id}`]))
    expect(entries.map(({ change }) => change)).toEqual([...Array(10).fill(null), '{"times":4}'])
  })

  test('what an administrator changed, before and after, without secrets', async () => {
    const given = { providerId: 'audited', name: 'One', adapter: 'openai-compatible', apiKey: 'CANARY-KEY' }
    const address = { apiUrl: 'https://ada:CANARY-PASSWORD@ai.example.org/v1?key=CANARY-PARAMETER' }
    const { one } = await svc.admin.create('ai-providers', { ...given, apiUrl: 'https://ai.example.org/v1' })
    await svc.admin.update('ai-providers', one.id, { name: 'Two', apiKey: 'CANARY-OTHER' })
    await svc.admin.update('ai-providers', one.id, { ...address, apiKey: 'CANARY-THIRD' })
    await svc.admin.delete(`/ai-providers/${one.id}`)

    const entries = await listed({ act: 'aiProviders.', subject: `ai-providers:${one.id}` })

    const actor = `user:${svc.people.admin.id}`
    expect(entries.map(({ act, actor }) => [act, actor])).toEqual([
      ['aiProviders.delete', actor],
      ...entries.slice(1, -2).map(() => ['aiProviders.update', actor]),
      ['aiProviders.update', actor],
      ['aiProviders.create', actor],
    ])
    const renamed = { before: { name: 'One', apiKey: 'changed' }, after: { name: 'Two', apiKey: 'changed' } }
    expect(entries.map(({ change }) => change)).toContainEqual(renamed)
    expect(JSON.stringify(await svc.rows('select * from audit_entries'))).not.toContain('CANARY')
  })

  test('what was refused to an administrator, without what was asked for', async () => {
    const refused = await svc.admin.update('ai-providers', '999999', { name: 'CANARY' })
    expect(refused.status).toBe(404)

    await expect
      .poll(() => listed({ act: 'aiProviders.update', outcome: 'not_found' }))
      .toMatchObject([{ actor: `user:${svc.people.admin.id}`, change: null }])
  })

  test('nothing of a change that was rolled back', async () => {
    const listDone = () => svc.rows(`select seq from audit_entries where outcome = 'ok' order by seq`)
    const before = await listDone()
    const refused = await svc.admin.create('ai-providers', { providerId: 'audited again', name: 5 })
    expect(refused.status).toBe(422)

    expect(await listDone()).toEqual(before)
  })

  test('of long texts 4 KB', async () => {
    const given = { promptType: 'audited', usageType: 'main', locale: 'en_US', prompt: 'x'.repeat(50_000) }
    const { one } = await svc.admin.create('system-prompts', given)

    const [entry] = await listed({ subject: `system-prompts:${one.id}` })

    expect(entry).toMatchObject({ change: { after: { prompt: `${'x'.repeat(4096)}…` } } })
  })

  test('nothing of a start whose file has the members of JSON in another order', async () => {
    await using config = await writeConfig('http://127.0.0.1:1', {})
    await using database = await cloneDatabase()
    const entriesOfStart = async () => {
      await config.write({
        providers: [
          {
            id: 'p',
            adapter: 'openai-compatible',
            apiUrl: 'http://127.0.0.1:1',
            timeouts: { total: 90_000, connect: 1000, firstByte: 2000 },
            parameters: { temperature: 0.5, maxTokens: 10, zeta: { b: 1, a: 2 } },
            models: [
              {
                id: 'audited',
                pricing: { outputPerMillion: 2, inputPerMillion: 1, currency: 'EUR' },
                parameters: { temperature: 0.5, maxTokens: 10, zeta: { b: 1, a: 2 } },
                limits: { maxOutputTokens: 5, maxInputTokens: 6 },
              },
            ],
          },
        ],
      })
      await using own = await startApp({ AI_CONFIG: config.file, DATABASE_URL: database.url })
      const { entries } = await own.host.audit.list({ act: 'models.sync' })
      const versions = await own.rows(`select m.updated_at as model, p.updated_at as provider
        from ai_models m join ai_providers p on p.id = m.provider_id where m.model_id = 'audited'`)
      return { count: entries.length, versions }
    }

    const first = await entriesOfStart()

    expect(first.count).toBe(1)
    expect(await entriesOfStart()).toEqual(first)
  })

  test('what a start brought from a file, and nothing where it brought nothing', async () => {
    await using config = await writeConfig('http://127.0.0.1:1', {})
    await using database = await cloneDatabase()
    const entriesOfStart = async (label: string) => {
      const model = { id: 'audited', label, external: true }
      await config.write({
        providers: [{ id: 'p', adapter: 'openai-compatible', apiUrl: 'http://127.0.0.1:1', models: [model] }],
      })
      await using own = await startApp({ AI_CONFIG: config.file, DATABASE_URL: database.url })
      return (await own.host.audit.list({ act: 'models.sync' })).entries
    }

    const [first] = await entriesOfStart('One')
    expect(first).toMatchObject({ actor: 'host', origin: null, outcome: 'ok' })
    const rows = [/^ai-models:\d+$/, /^ai-model-usage-rules:\d+\/external$/].map((name) => expect.stringMatching(name))
    expect(first?.change).toMatchObject({ created: expect.arrayContaining(rows) })
    expect(JSON.stringify(first?.change)).not.toContain('undefined')
    expect(await entriesOfStart('One')).toHaveLength(1)
    const [changed, ...before] = await entriesOfStart('Two')
    expect(before).toHaveLength(1)
    const [[row, values] = []] = Object.entries(changed?.change?.['updated'] as object)
    expect([row, values]).toEqual([
      expect.stringMatching(/^ai-models:\d+$/),
      { before: { label: 'One' }, after: { label: 'Two' } },
    ])
  })

  test('each transaction of one act that changed something', async () => {
    const ctx = createContext(svc.services, { origin: 'host', operator: 'tester', requestId: 'two-transactions' })
    const act = new AuditedCall({ path: 'admin.addUser', isMutation: true, isAdministrative: true, input: {} })
    ctx.auditedCall = act
    const steps = [{ step: 1 }, { step: 2 }, undefined]

    for (const step of steps) await runInTransaction(ctx, undefined, async () => void (step && act.recordChange(step)))

    const written = await svc.rows<{ change: string }>(
      `select change from audit_entries where request_id = 'two-transactions' order by seq`,
    )
    expect(written.map(({ change }) => JSON.parse(change))).toMatchObject([{ step: 1 }, { step: 2 }])
  })

  test('what a relation led to, before and after', async () => {
    const tool = await svc.rows<{ id: number }>(
      `insert into ai_tools (name, description, tool_type) values ('audited', '', 'function') returning id`,
    )
    const [provider] = await svc.rows<{ id: number }>(
      `insert into ai_providers (provider_id, name, adapter) values ('audited-p', 'P', 'demo') returning id`,
    )
    const [model] = await svc.rows<{ id: number }>(
      `insert into ai_models (model_id, label, provider_id) values ('audited-m', 'M', $1) returning id`,
      [provider?.id],
    )
    const id = tool[0]?.id ?? 0
    const added = await svc.admin.post(`/ai-tools/${id}/relationships/models`, toMany('ai-models', [model?.id ?? 0]))
    expect(added.status).toBe(200)

    expect(await listed({ act: 'aiTools.', subject: `ai-tools:${id}` })).toMatchObject([
      { change: { before: { models: [] }, after: { models: [model?.id] } } },
    ])
  })

  test('that somebody has read it, once for a token and day', async () => {
    await listed({ act: 'audit.list', limit: 1 })
    await expect.poll(() => listed({ act: 'audit.list', limit: 1 })).toMatchObject([{ outcome: 'ok' }])
    const readers = async () =>
      (await listed({ act: 'audit.list' })).filter(({ actor }) => actor === `user:${svc.people.admin.id}`)

    const before = await readers()
    for (const act of ['aiModels.', 'aiProviders.', 'tokens.']) await listed({ act })
    await svc.services.process.audit.flush()

    expect(await readers()).toEqual(before)
    expect(before).toHaveLength(1)
  })

  test('prices as numbers, before and after', async () => {
    const [{ id } = { id: 0 }] = await svc.rows<{ id: number }>(
      `with p as (insert into ai_providers (provider_id, name, adapter) values ('priced-p', 'P', 'demo') returning id)
       insert into ai_models (model_id, label, provider_id) select 'priced', 'M', id from p returning id`,
    )
    const range = {
      currency: 'EUR',
      range: [0, null],
      inputCostPerToken: 0.000_002,
      inputCostPerCachedToken: null,
      outputCostPerToken: 0.000_004,
      outputCostPerReasoningToken: null,
    }
    const changed = await svc.admin.update('ai-models', id, { pricing: { ranges: [range], priorityRanges: null } })
    expect(changed.status).toBe(200)

    const [entry] = await listed({ act: 'aiModels.update', subject: `ai-models:${id}` })

    expect(entry?.change).toMatchObject({
      after: { pricing: { ranges: [{ inputCostPerToken: 0.000_002, outputCostPerToken: 0.000_004 }] } },
    })
  })

  test('names of actors and subjects, until a person is erased', async () => {
    const { id } = await signIn(svc, 'hedy')
    const { admin } = svc.people
    const given = { providerId: 'named', name: 'P', adapter: 'openai-compatible', apiUrl: 'https://ai.example.org/v1' }
    const { one } = await svc.admin.create('ai-providers', given)
    const readNames = async (filters: object) => {
      const input = encodeURIComponent(JSON.stringify(filters))
      const answer = await svc.send('GET', `/trpc/audit.list?input=${input}`, { token: admin.token })
      return ((await answer.json()) as { result: { data: { names: Record<string, string> } } }).result.data.names
    }
    await expect.poll(() => listed({ subject: `user:${id}` })).toHaveLength(1)
    const [{ name: adminName } = { name: '' }] = await svc.rows<{ name: string }>(
      'select name from users where id = $1',
      [admin.id],
    )

    expect(await readNames({ subject: `ai-providers:${one.id}` })).toEqual({
      [`user:${admin.id}`]: adminName,
      [`ai-providers:${one.id}`]: 'named',
    })
    expect(Object.keys(await readNames({ actor: `user:${id}` }))).toEqual([`user:${id}`])
    await svc.admin.delete(`/users/${id}`)
    expect(await readNames({ actor: `user:${id}` })).toEqual({})
    const actors = await svc.send('GET', '/trpc/audit.actors', { token: admin.token })
    const { result } = (await actors.json()) as { result: { data: { actors: string[]; names: object } } }
    expect(result.data.actors).toContain(`user:${id}`)
    expect(result.data.names).not.toHaveProperty(`user:${id}`)
    expect(result.data.names).toHaveProperty(`user:${admin.id}`, adminName)
  })

  test('page after page', async () => {
    for (const tries of [1, 2, 3]) {
      const given = { providerId: `page-${tries}`, name: 'P', adapter: 'openai-compatible' }
      await svc.admin.create('ai-providers', { ...given, apiUrl: 'https://ai.example.org/v1' })
    }
    const numbers = (await listed({ limit: 4 })).map(({ seq }) => seq)
    const last = numbers[1] ?? 0

    expect((await listed({ limit: 2, before: last })).map(({ seq }) => seq)).toEqual([last - 1, last - 2])
  })
})

test('the audit log names only procedures that there are', () => {
  expect(Object.keys(appRouter._def.procedures)).toEqual(expect.arrayContaining(selfServicePaths))
})

test('erasing a person empties their audit entries, and the chain stays valid', async () => {
  const { id } = await signIn(svc, 'lovelace')
  await expect.poll(() => listed({ subject: `user:${id}` })).toHaveLength(1)
  const removed = await svc.admin.delete(`/users/${id}`)
  expect(removed.status).toBe(200)

  const entries = await listed({ subject: `user:${id}` })
  expect(entries.map(({ act }) => act)).toEqual(['users.delete', 'sessions.login'])
  expect(entries[0]?.change).toMatchObject({ erased: { users: { deleted: 1 }, sessions: { deleted: 1 } } })
  expect(entries[1]).toMatchObject({ origin: null, change: null })
  expect(JSON.stringify(await svc.rows('select * from audit_entries'))).not.toContain('lovelace')
  expect(await verified()).toMatchObject({ isWhole: true, findings: [] })
})

describe('the database', () => {
  test.for([
    `update audit_entries set actor = 'user:1'`,
    `update audit_entries set change = '{}'`,
    'delete from audit_entries',
  ])('refuses «%s»', async (text) => {
    await expect(svc.rows(text)).rejects.toThrow('the audit log takes no changes')
  })
})

test('old entries go by the setting, and the chain begins anew behind them', async () => {
  await using own = await startJsonApi({ RETENTION_AUDIT_MONTHS: '12' })
  for (const providerId of ['one', 'two', 'three']) {
    const given = { providerId, name: 'P', adapter: 'openai-compatible', apiUrl: 'https://ai.example.org/v1' }
    await own.admin.create('ai-providers', given)
  }
  await own.rows('alter table audit_entries disable trigger refuse')
  await own.rows(`update audit_entries set at = at - interval '13 months' where seq <= 3`)
  await own.rows('alter table audit_entries enable trigger refuse')

  await own.host.audit.upkeep()

  // The first entry is that of the start.
  expect(await own.rows('select seq::int from audit_entries')).toEqual([{ seq: 4 }])
  expect(await own.host.audit.verify()).toMatchObject({ isWhole: true, entries: 1 })
  expect(own.log.filter((line) => line.includes('"audit anchor"')).map((line) => JSON.parse(line))).toMatchObject([
    { seq: 1 },
    { seq: 4, hash: expect.stringMatching(/^[0-9a-f]{64}$/) },
  ])
})

/** Manipulations by somebody with access to the database. */
const tampering: [string, string, string][] = [
  ['a changed entry', `update audit_entries set actor = 'user:9' where seq = 2`, 'was changed'],
  ['a changed origin', `update audit_entries set origin = '{}' where seq = 2`, 'says another origin than it did'],
  ['a missing entry', 'delete from audit_entries where seq = 2', 'entries 2 to 2 are missing'],
  ['a missing end', 'delete from audit_entries where seq = 3', 'entries 3 to 3 are missing'],
  [
    'another order',
    'update audit_entries set seq = case seq when 2 then -3 when 3 then -2 end where seq in (2, 3); update audit_entries set seq = -seq where seq < 0',
    'does not follow the entry before it',
  ],
  [
    'a beginning that was cut by moving the head',
    'update audit_heads set removed_seq = 2, removed_hash = (select hash from audit_entries where seq = 2); delete from audit_entries where seq <= 2',
    'was removed with all before it, and nothing proves that the retention did it; a version before 28 November 2026 leaves it so, until the next removal',
  ],
  [
    'a beginning that was cut with a seal of somebody else',
    `update audit_heads set removed_seq = 2, removed_hash = (select hash from audit_entries where seq = 2), removed_seal = 'v1.a.b'; delete from audit_entries where seq <= 2`,
    'was removed with all before it, but not by the retention of this service',
  ],
  [
    'an entry behind the head',
    `insert into audit_entries (seq, at, act, outcome, actor, previous, hash) select 4, now(), 'admin.setRole', 'ok', 'user:9', hash, hash from audit_heads`,
    'is behind the head of the chain, 3',
  ],
  [
    'texts that no removal has erased',
    'update audit_entries set change = null where seq = 1',
    'lost its texts, and no later entry says that user:2 was removed',
  ],
]

test.for(tampering)('svc audit verify finds %s', async ([, text, problem]) => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.run(['set-role', '--username', 'ada', '--role', 'admin'])
  await machine.run(['token', '--username', 'ada', '--name', 'laptop'])
  expect(await machine.json('audit', 'verify')).toMatchObject({ isWhole: true, entries: 3 })

  await machine.rows(
    `alter table audit_entries disable trigger user; ${text}; alter table audit_entries enable trigger user`,
  )
  const ended = await machine.run(['audit', 'verify', '--json'])

  expect(ended.exitCode).toBe(1)
  expect(JSON.parse(ended.stdout)).toMatchObject({
    isWhole: false,
    findings: expect.arrayContaining([expect.objectContaining({ problem })]),
  })
})

test('svc audit verify detects a rewritten log by the anchors in the logs', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  const [{ hash } = {}] = await machine.rows('select hash from audit_heads')
  const log = join(machine.folder, 'svc.log')
  await writeFile(log, `no JSON\n${JSON.stringify({ seq: 1, hash, msg: 'audit anchor' })}\n`)
  expect(await machine.json('audit', 'verify', '--log', log)).toMatchObject({ isWhole: true, anchors: 1 })

  await machine.rows(
    `alter table audit_entries disable trigger refuse; delete from audit_entries; delete from audit_heads; alter table audit_entries enable trigger refuse`,
  )
  await machine.run(['set-role', '--username', 'ada', '--role', 'admin'])
  const ended = await machine.run(['audit', 'verify', '--log', log, '--json'])

  expect(JSON.parse(ended.stdout).findings).toEqual([{ seq: 1, problem: 'is not what its anchor in the log says' }])
})

test('svc audit verify finds an anchor that nobody with the application key wrote', async () => {
  await using machine = await openHost()
  const log = join(machine.folder, 'svc.log')
  await machine.run(['add-user', ...adaFlags])
  await using own = await startApp({ DATABASE_URL: machine.env.DATABASE_URL, DATA_DIR: machine.folder })
  const anchor = own.log.find((line) => line.includes('"audit anchor"')) ?? ''
  await writeFile(log, anchor)
  expect(await machine.json('audit', 'verify', '--log', log)).toMatchObject({ isWhole: true, anchors: 1 })

  const { hash, ...forged } = JSON.parse(anchor)
  await writeFile(log, JSON.stringify({ ...forged, seq: forged.seq - 1, hash }))
  const ended = await machine.run(['audit', 'verify', '--log', log, '--json'])

  expect(ended.exitCode).toBe(1)
  expect(JSON.parse(ended.stdout).findings).toContainEqual({
    seq: forged.seq - 1,
    problem: 'has an anchor in the log that no known application key has sealed',
  })
})

test('prices that a list changes are told, before and after', async () => {
  await using machine = await openHost()
  await machine.rows(`insert into ai_providers (provider_id, name, adapter) values ('p', 'P', 'demo')`)
  await machine.rows(`insert into ai_models (model_id, label, provider_id) values ('m', 'M', 1)`)
  const list = join(machine.folder, 'prices.yaml')
  await writeFile(list, 'currency: EUR\nprices: []\nfree: [m]\n')
  expect(await machine.run(['prices', 'import', list])).toMatchObject({ exitCode: 0 })

  const { entries } = await machine.json('audit', 'list', '--act', 'prices.import')
  expect(entries).toMatchObject([{ change: { before: { m: null }, after: { m: { free: true } } } }])
})

test('commands are told with the user of the host and no password', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags, '--password-stdin'], { piped: 'CANARY correct horse' })
  await machine.run(['set-role', '--username', 'ada', '--role', 'admin'])
  await machine.run([
    'limits',
    'set',
    'of ada',
    '--for',
    'user:ada',
    '--cap',
    '5',
    '--unit',
    'requests',
    '--per',
    'day',
  ])
  await machine.run(['remove-user', '--username', 'ada', '--yes'])

  const { entries } = await machine.json('audit', 'list', '--from', '2020-01-01')

  expect(entries).toMatchObject([
    { act: 'admin.removeUser', actor: 'host', subject: 'user:2', origin: { operator: expect.any(String) } },
    { act: 'limits.set', subject: 'user:2', change: null },
    { act: 'admin.setRole', subject: 'user:2', change: null },
    { act: 'admin.addUser', subject: 'user:2', change: null },
  ])
  const lines = (await machine.run(['audit', 'export'])).stdout.trim().split('\n')
  expect(lines.map((line) => JSON.parse(line).seq)).toEqual([1, 2, 3, 4, 5])
  const all = JSON.stringify(await machine.rows('select * from audit_entries'))
  expect(all).not.toMatch(/CANARY|"ada|ada@/)
})
