// @module-tag debian

import { readFile, writeFile } from 'node:fs/promises'
import { afterEach, expect, test } from 'vitest'
import { eraseRules } from '../../entities/identity/erasure.ts'
import { readAccounts, resolveAccountsPath } from '../../server/login/accounts.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { metadata } from '../kit/catalogue.ts'
import { adaFlags, openHost } from '../kit/command-line.ts'
import { cloneDatabase } from '../kit/database.ts'
import { removeEverybody } from '../kit/identity/first-keys.ts'
import { afterPasswordCheck, holdLock, waitForLocks } from '../kit/locks.ts'
import { openClient } from '../kit/postgres-client.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startApp)
afterEach(() => removeEverybody(svc))

/** Selects the foreign keys to users, and columns without a foreign key whose name suggests a person. */
const selectReferences = `
  select t.relname || '.' || a.attname as name
    from pg_constraint c
    join pg_class t on t.oid = c.conrelid
    join pg_attribute a on a.attrelid = c.conrelid and a.attnum = any (c.conkey)
   where c.contype = 'f' and c.confrelid = 'users'::regclass
  union
  select c.table_name || '.' || c.column_name
    from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
   where c.table_schema = current_schema() and t.table_type = 'BASE TABLE' and c.table_name <> 'users'
     and not exists (
       select from pg_constraint f join pg_attribute a on a.attrelid = f.conrelid and a.attnum = any (f.conkey)
        where f.contype = 'f' and f.conrelid = c.table_name::regclass and a.attname = c.column_name)
     and c.column_name ~ '(^|_)(user|username|owner|author|creator|editor|member|person|people|account|inviter|invitee|sender|recipient|email)(_?id|_?name)?$|_by(_id)?$'
   order by name`

/** Selects the foreign keys that would prevent the deletion of a person's rows. */
const selectHindrances = `
  select t.relname || ' -> ' || f.relname as name
    from pg_constraint c
    join pg_class t on t.oid = c.conrelid
    join pg_class f on f.oid = c.confrelid
   where c.contype = 'f' and f.relname = any ($1) and t.relname <> all ($1) and c.confdeltype not in ('c', 'n')`

const rules = eraseRules(metadata)
const columnsWithRule = rules.map(({ table, column }) => `${table}.${column}`)
const deletedTables = ['users', ...rules.filter(({ rows }) => rows === 'delete').map(({ table }) => table)]

/** A reservation is short-lived: its usage record is written without a removed person. */
const shortLived = ['usage_holds.user_id']

/** Their names suggest a person: a kind of account, the name of an account whose row goes with its person, and a kind of end. */
const namesOfOthers = ['mcp_servers.account', 'mcp_connections.account', 'shared_links.ended_by']

const columnsWithoutRule = async (database: Database) =>
  (await database.names(selectReferences)).filter(
    (name) => ![...columnsWithRule, ...shortLived, ...namesOfOthers].includes(name),
  )

test('the schema has an erase rule for every column that refers to a user', async () => {
  await using database = await openClone()

  expect(await columnsWithoutRule(database)).toEqual([])
})

test.for([
  ['letters.keeper', 'create table letters (keeper int references users)'],
  ['letters.user_id', 'create table letters (user_id int)'],
  ['letters.owner', 'create table letters (owner text)'],
  ['letters.created_by', 'create table letters (created_by int)'],
  ['letters.email', 'create table letters (email text)'],
  ['access_tokens.lent_to', 'alter table access_tokens add lent_to int references users'],
] as const)('the schema would be found out at %s', async ([name, change]) => {
  await using database = await openClone()

  await database.client.query(change)

  expect(await columnsWithoutRule(database)).toEqual([name])
})

test('the schema has every column of a rule, nullable where the row stays', async () => {
  await using database = await openClone()

  const columns = await database.names(
    `select table_name || '.' || column_name || ' ' || is_nullable as name from information_schema.columns`,
  )
  for (const { table, column, rows } of rules) {
    const nullable = rows === 'keep' ? ['YES'] : ['YES', 'NO']
    expect(
      nullable.some((word) => columns.includes(`${table}.${column} ${word}`)),
      `${table}.${column}`,
    ).toBe(true)
  }
})

test('the schema lets nothing that hangs on a person hold them back', async () => {
  await using database = await openClone()

  expect(await database.names(selectHindrances, [deletedTables])).toEqual([])
  await database.client.query('create table letters (token int references access_tokens)')
  expect(await database.names(selectHindrances, [deletedTables])).toEqual(['letters -> access_tokens'])
})

type Person = { id: number }

test('removing a user changes nothing when one table cannot be erased', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.run(['token', '--username', 'ada', '--name', 'laptop'])
  await machine.rows(usageOf(2, 1))
  await machine.rows('create table letters (keeper int references users)')
  await machine.rows('insert into letters values (2)')

  const result = await machine.run(['remove-user', '--username', 'ada', '--yes'])

  expect(result).toMatchObject({ exitCode: 1, stdout: '' })
  expect(await machine.rows('select user_id, token_id from usage_records')).toEqual([{ user_id: 2, token_id: 1 }])
  expect(await machine.rows('select id from access_tokens')).toEqual([{ id: 1 }])
  expect(await machine.rows('select username from users where id = 2')).toEqual([{ username: 'ada' }])
})

test('removing a user erases their data, keeps anonymous usage, and counts both', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.run(['add-user', '--username', 'bob', '--email', 'bob@example.org', '--name', 'Bob'])
  for (const name of ['laptop', 'phone']) await machine.run(['token', '--username', 'ada', '--name', name])
  await machine.run(['token', '--username', 'bob', '--name', 'notebook'])
  for (const [user, token] of [
    [2, 1],
    [2, 2],
    [2, 2],
    [3, 3],
  ] as const)
    await machine.rows(usageOf(user, token))

  const record = await machine.json('remove-user', '--username', 'ada', '--yes')

  expect(record).toMatchObject({
    id: 2,
    username: 'ada',
    report: {
      usage_records: { deleted: 0, kept: 3 },
      access_tokens: { deleted: 2, kept: 0 },
      users: { deleted: 1, kept: 0 },
    },
  })
  expect(await machine.rows('select id, name from access_tokens')).toEqual([{ id: 3, name: 'notebook' }])
  expect(await machine.rows('select user_id, token_id, input_tokens from usage_records order by id')).toEqual([
    { user_id: null, token_id: null, input_tokens: 7 },
    { user_id: null, token_id: null, input_tokens: 7 },
    { user_id: null, token_id: null, input_tokens: 7 },
    { user_id: 3, token_id: 3, input_tokens: 7 },
  ])
  const again = await machine.run(['remove-user', '--username', 'ada', '--yes'])
  expect(again).toEqual({ exitCode: 1, stdout: '', stderr: 'There is no user with the username ada.\n' })
})

test('removing a user tells what became of their assistants and files', async () => {
  await using machine = await openHost()
  await machine.run(['add-user', ...adaFlags])
  await machine.rows(`insert into knowledge (owner_id, name) values (2, 'Handbook')`)

  const { stdout } = await machine.run(['remove-user', '--username', 'ada', '--yes'])

  expect(stdout).toBe(
    'User ada is removed with everything they own.\nKnowledge deleted, also of assistants that others have now: 1.\n',
  )
})

test.for([
  ['JSON:API', (root: TestBrowser, { id }: Person) => root.send('DELETE', `/api/svc/v1/users/${id}`)],
  ['tRPC', (root: TestBrowser, { id }: Person) => root.send('POST', '/trpc/users.delete', { body: { id: `${id}` } })],
  ['the host', (_: TestBrowser, { id }: Person, svc: TestApp) => svc.host.admin.removeUser({ user: { id } })],
] as const)('removing a user by %s removes the local account, so they cannot come back', async ([, erase]) => {
  const { browser, ...ada } = await signIn(svc, 'ada')
  const { browser: root } = await signIn(svc, 'root')
  await svc.host.admin.setRole({ user: { username: 'root' }, role: 'admin' })
  await root.login('root')

  await erase(root, ada, svc)

  expect(await browser.standing()).toBe('internal')
  expect((await svc.send('GET', '/api/user', { token: ada.token })).status).toBe(401)
  expect((await openBrowser(svc.url).login('ada')).status).toBe(401)
  expect((await readAccounts(resolveAccountsPath(svc.env))).map(({ username }) => username)).toEqual(['root'])
})

test('removing a user changes nothing where the accounts cannot be changed', async () => {
  const { browser } = await signIn(svc, 'ada')
  const accounts = await readFile(resolveAccountsPath(svc.env), 'utf8')
  await writeFile(resolveAccountsPath(svc.env), '[{')

  await expect(svc.host.admin.removeUser({ user: { username: 'ada' } })).rejects.toMatchObject({
    problem: 'unavailable',
  })

  await writeFile(resolveAccountsPath(svc.env), accounts)
  expect(await browser.standing()).not.toBe('internal')
  expect((await openBrowser(svc.url).login('ada')).status).toBe(200)
})

test('removing a user stops a sign-in whose password is just being compared', async () => {
  await using svc = await startApp()
  await addAccount(svc, 'ada')
  afterPasswordCheck(svc, () => svc.host.admin.removeUser({ user: { username: 'ada' } }))

  expect((await openBrowser(svc.url).login('ada')).status).toBe(401)
})

test('removing a user who is being renamed removes their renamed account', async () => {
  const { id } = await signIn(svc, 'ada')
  await using lock = await holdLock(svc, 'select from users where id = $1 for update', [id])
  const renamed = svc.host.admin.renameUser({ user: { id }, to: 'lovelace' })
  await lock.waitForWaiter()
  const removed = svc.host.admin.removeUser({ user: { id } })
  await waitForLocks(svc.env.DATABASE_URL, 2)

  await lock.release()
  await Promise.all([renamed, removed])

  expect(await readAccounts(resolveAccountsPath(svc.env))).toEqual([])
  expect((await openBrowser(svc.url).login('lovelace')).status).toBe(401)
})

test('removing a user ends their access at once and frees the username', async () => {
  const { token } = await svc.user({ username: 'ada' })
  expect((await svc.send('GET', '/api/user', { token })).status).toBe(200)

  await svc.host.admin.removeUser({ user: { username: 'ada' } })

  expect((await svc.send('GET', '/api/user', { token })).status).toBe(401)
  const other = await svc.user({ username: 'ada' })
  expect((await svc.send('GET', '/api/user', { token })).status).toBe(401)
  expect((await svc.send('GET', '/api/user', { token: other.token })).status).toBe(200)
})

type Database = Awaited<ReturnType<typeof openClone>>

async function openClone() {
  const database = await cloneDatabase()
  const client = await openClient(database.url)
  return {
    client,
    names: async (text: string, values: unknown[] = []): Promise<string[]> =>
      (await client.query(text, values)).rows.map(({ name }) => name),
    async [Symbol.asyncDispose]() {
      await client.end()
      await database[Symbol.asyncDispose]()
    },
  }
}

const usageOf = (user: number, token: number) =>
  `insert into usage_records (user_id, token_id, context, provider, model, input_tokens, outcome, duration_ms, request_id)
   values (${user}, ${token}, 'api', 'demo', 'demo', 7, 'completed', 5, 'r')`
