import { readdir, readFile, writeFile } from 'node:fs/promises'
import { constants } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { eraseRules } from '../../entities/identity/erasure.ts'
import { resources } from '../../routers/index.ts'
import { excludedColumns, personalTables } from '../../server/personal-data/contents.ts'
import { startApp } from '../kit/app.ts'
import { openBrowser, signIn } from '../kit/browser.ts'
import { metadata } from '../kit/catalogue.ts'
import { runCommand } from '../kit/command-line.ts'
import { KEY, NEWER } from '../kit/files/maintenance.ts'
import { createApiClient, startJsonApi, toOne } from '../kit/json-api/client.ts'
import { fetchExport, makeExport, readCurrentExport, requestExport, unpackExport } from '../kit/person-export.ts'
import { openClient } from '../kit/postgres-client.ts'
import { sendAttachments, upload } from '../kit/rooms/attachments.ts'
import { addMember as joinRoom } from '../kit/rooms/messages.ts'
import { encodeText } from '../kit/rooms/older-routes.ts'
import { root, startProcess } from '../kit/service-process.ts'
import { shareResource } from '../kit/share-resource.ts'

const svc = shareResource(startJsonApi)

const seal = (canary: string) => ['iv', 'tag', canary].map((part) => Buffer.from(part).toString('base64')).join('|')

/** Creates a person with a browser and a token whose messages and uploads contain their name. */
async function personWithData(name: string) {
  const { browser, id } = await signIn(svc, name)
  const abilities = ['ai', 'user', 'read', 'write', 'keychain'] as const
  const { token } = await svc.host.tokens.createFor({ user: { id }, name: `of ${name}`, abilities: [...abilities] })
  const client = createApiClient(svc, token)
  const keychain = [{ key: 'aiConvKey', keyType: 'ai_conv', value: seal(`key of ${name}`) }]
  expect((await client.post('/user-keychain-values/actions/batch-update', { set: keychain })).status).toBe(200)
  const { body } = await browser.send('POST', '/req/conv/createChat', { body: { conv_name: `talk of ${name}` } })
  const { slug } = body['conv'] as { slug: string }
  const message = { isAi: false, threadId: 0, content: { text: encodeText(`question of ${name}`) }, completion: true }
  expect((await browser.send('POST', `/req/conv/sendMessage/${slug}`, { body: message })).status).toBe(200)
  await svc.rows(
    `insert into usage_records (user_id, context, provider, model, input_tokens, outcome, duration_ms, request_id)
     values ($1, 'api', 'demo', $2, 7, 'completed', 5, 'r')`,
    [id, `model of ${name}`],
  )
  await svc.rows(
    `insert into tool_uses (user_id, tool, surface, outcome, duration_ms) values ($1, $2, 'mcp', 'completed', 5)`,
    [id, `tool of ${name}`],
  )
  return { browser, id, name, token, client }
}

const fetchArchive = async (person: Awaited<ReturnType<typeof personWithData>>) => {
  const { id } = await makeExport(person.browser)
  const { status, bytes } = await fetchExport(svc, person.browser, id)
  expect(status).toBe(200)
  return unpackExport(bytes)
}

test('every column that leads to a person is archived, or says why not', () => {
  const exported = personalTables.flatMap(({ entity, path: [name] = [] }) => {
    const meta = metadata.get(entity as never)
    const property = (meta.properties as Record<string, { fieldNames: string[] }>)[name ?? '']
    return property ? `${meta.tableName}.${property.fieldNames[0]}` : []
  })

  const leading = eraseRules(metadata).map(({ table, column }) => `${table}.${column}`)
  expect(leading.filter((column) => !exported.includes(column)).sort()).toEqual(Object.keys(excludedColumns).sort())
})

test("no column of an archive sounds like a secret except the person's sealed ones", () => {
  const declared = new Set(resources.map(({ entity }) => entity))
  const shown = personalTables.flatMap(({ entity, columns: told }) => {
    const { tableName, props } = metadata.get(entity as never)
    const columns = declared.has(entity) || told ? [] : props.filter(({ hidden, fieldNames }) => !hidden && fieldNames)
    return columns.flatMap(({ fieldNames }) => fieldNames.map((column) => `${tableName}.${column}`))
  })

  const sounding = shown.filter((name) => /\..*(hash|secret|csrf|password|sealed|key|cipher|credential)/.test(name))
  expect(sounding.sort()).toEqual([
    'conversations.sealed_name',
    'conversations.sealed_options',
    'own_prompts.sealed',
    'passkey_backups.ciphertext',
    'room_key_epochs.previous_key',
    'room_keys.wrapped_key',
    // A number, which names the key.
    'room_reactions.key_epoch',
    // Sealed by the browser of the person, as the names of chats are.
    'shared_links.sealed_key',
  ])
})

test('an archive has what a person wrote, uploaded and used, and nothing of others', async () => {
  const ada = await personWithData('fay')
  const bob = await personWithData('gus')
  const room = (await ada.client.create('rooms', { name: 'Chess' })).one.id
  await joinRoom(svc, room, 'editor', { ...bob, ...bob.client } as never)
  const file = (await upload(svc, ada.token, 'file of fay')).one.id
  await sendAttachments(ada.client, room, [file], { content: seal('room message of fay') })
  await bob.client.create('room-messages', { content: seal('room message of gus') }, { room: toOne('rooms', room) })
  await upload(svc, bob.token, 'file of gus')
  await svc.rows('update conversations set is_archived = true')
  await svc.rows("update users set sealed_chat_settings = 'settings of ' || username where id = any($1)", [
    [ada.id, bob.id],
  ])

  const archive = await fetchArchive(ada)

  expect(archive.paths).toEqual(expect.arrayContaining(['README.txt', 'open.html', `files/${file}.txt`]))
  expect(archive.text(`files/${file}.txt`)).toBe('file of fay')
  expect(archive.rows('users')).toMatchObject([{ id: `${ada.id}`, attributes: { email: 'fay@example.org' } }])
  expect(archive.rows('accounts')).toMatchObject([{ attributes: { sealedChatSettings: 'settings of fay' } }])
  expect(archive.rows('conversations')).toMatchObject([{ attributes: { name: 'talk of fay', isArchived: true } }])
  expect(archive.rows('conversation-messages')).toMatchObject([{ attributes: { role: 'user' } }])
  expect(archive.rows('room-messages')).toMatchObject([{ attributes: { content: seal('room message of fay') } }])
  expect(archive.rows('room-members')).toMatchObject([{ attributes: { role: 'admin', username: 'fay' } }])
  expect(archive.rows('user-keychain-values')).toMatchObject([{ attributes: { value: seal('key of fay') } }])
  expect(archive.rows('usage-records')).toMatchObject([{ attributes: { model: 'model of fay', inputTokens: 7 } }])
  expect(archive.rows('tool-uses')).toMatchObject([{ attributes: { tool: 'tool of fay', surface: 'mcp' } }])
  expect(archive.rows('access-tokens').map(({ attributes }) => attributes['name'])).toEqual(['test', 'of fay'])
  expect(archive.rows('audit-entries')[0]).toMatchObject({ attributes: { act: 'sessions.login' } })
  expect(archive.manifest.damagedFiles).toEqual([])
  const canaries = ['gus@example', 'The gus', 'of gus', Buffer.from('room message of gus').toString('base64')]
  expect(canaries.filter((canary) => archive.whole.includes(canary))).toEqual([])
})

test("an archive has all versions of the person's assistants, and none of others", async () => {
  // What JSON:API shows of assistants must not change what an archive has.
  await using own = await startApp({ JSONAPI_ASSISTANTS: 'true' })
  const { browser } = await signIn(own, 'liz')
  await signIn(own, 'max')
  const content = (systemPrompt: string) => ({ name: 'Helper', model: 'demo', systemPrompt })
  const apply = (handle: string, owner: string, systemPrompt: string, editors: string[] = []) =>
    own.host.assistants.applyFile({ assistants: [{ handle, owner, editors, ...content(systemPrompt) }] })
  await apply('liz-helper', 'liz', 'first words of liz')
  await apply('liz-helper', 'liz', 'second words of liz')
  await apply('max-helper', 'max', 'words of max', ['liz'])

  const { id } = await makeExport(browser)
  const archive = unpackExport((await fetchExport(own, browser, id)).bytes)

  expect(archive.rows('assistants')).toMatchObject([{ attributes: { handle: 'liz-helper', published: 2 } }])
  expect(archive.rows('assistant-versions').map(({ attributes }) => attributes)).toMatchObject([
    { handle: 'liz-helper', number: 1, systemPrompt: 'first words of liz' },
    { handle: 'liz-helper', number: 2, systemPrompt: 'second words of liz' },
  ])
  expect(archive.rows('assistant-editors')).toMatchObject([{ attributes: { handle: 'max-helper' } }])
  expect(archive.whole.includes('words of max')).toBe(false)
})

test('an archive holds no secret that would open a door', async () => {
  const person = await personWithData('hal')

  const { whole } = await fetchArchive(person)

  const [session] = await svc.rows<{ hash: string; csrf: string }>(
    'select hash, csrf_token as csrf from sessions where user_id = $1',
    [person.id],
  )
  const tokens = await svc.rows<{ hash: string }>('select hash from access_tokens where user_id = $1', [person.id])
  for (const secret of [session?.hash, session?.csrf, person.token, ...tokens.map(({ hash }) => hash)]) {
    expect(secret).toBeTruthy()
    expect(whole.includes(secret ?? '')).toBe(false)
  }
})

test('another person, an administrator, a guest and a token fetch no archive', async () => {
  const person = await personWithData('ida')
  const { browser: other } = await signIn(svc, 'jon')
  const { browser: root, id: rootId } = await signIn(svc, 'kim')
  await svc.host.admin.setRole({ user: { id: rootId }, role: 'admin' })
  await root.login('kim')
  const { id } = await makeExport(person.browser)

  const statuses = [other, root, openBrowser(svc.url)].map(async (who) => (await fetchExport(svc, who, id)).status)
  expect(await Promise.all(statuses)).toEqual([404, 404, 401])
  const { status } = await svc.send('GET', `/req/profile/export/${id}`, { token: person.token })
  expect(status).toBe(403)
  expect((await fetchExport(svc, person.browser, id)).status).toBe(200)
})

test('a person has one export made at a time, and three within a day', async () => {
  const { browser } = await personWithData('lea')

  const [first, second] = await Promise.all([requestExport(browser), requestExport(browser)])
  expect([first.status, second.status].sort()).toEqual([200, 409])
  await expect.poll(async () => (await readCurrentExport(browser))?.state, { timeout: 60_000 }).toBe('ready')
  for (let more = 0; more < 2; more++) await makeExport(browser)

  expect((await requestExport(browser)).status).toBe(429)
})

const sealedExports = async () => {
  const names: string[] = []
  for await (const { name } of svc.services.files.exports.list()) names.push(name)
  return names
}

const fileOf = async (exportId: number) =>
  (await svc.rows<{ file: string }>('select file from person_exports where id = $1', [exportId]))[0]?.file ?? ''

test('an export whose time is over goes with its file', async () => {
  const { browser } = await personWithData('mia')
  const { id, expiresAt } = await makeExport(browser)
  const file = await fileOf(id)
  expect(Date.parse(expiresAt) - Date.now()).toBeGreaterThan(47 * 3_600_000)
  expect(await sealedExports()).toContain(file)

  await svc.rows(`update person_exports set expires_at = now() where id = $1`, [id])
  expect((await fetchExport(svc, browser, id)).status).toBe(404)
  expect(await readCurrentExport(browser)).toBe(null)
  await svc.host.personExports.deleteExpired()

  expect(await sealedExports()).not.toContain(file)
  expect(await svc.rows('select id from person_exports where id = $1', [id])).toEqual([])
})

test('an export goes with its person, whose usage stays without them', async () => {
  const { browser, id: userId } = await personWithData('nat')
  const { id } = await makeExport(browser)
  const file = await fileOf(id)

  await svc.host.admin.removeUser({ user: { id: userId } })

  expect(svc.log.map((line) => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ msg: 'a person was removed', userId }),
  )

  expect(await sealedExports()).not.toContain(file)
  expect(await svc.rows('select id from person_exports where id = $1', [id])).toEqual([])
  expect(await svc.rows(`select user_id, model from usage_records where model = 'model of nat'`)).toEqual([
    { user_id: null, model: 'model of nat' },
  ])
})

test('an archive opens with the next application key once keys are rotated', async () => {
  await using own = await startApp({ APP_KEY: KEY })
  const { browser } = await signIn(own, 'uma')
  await makeExport(browser)
  const { DATABASE_URL = '', DATA_DIR } = own.env
  const sealedBy = async () => (await own.rows<{ key: string }>('select sealed_key as key from person_exports'))[0]?.key

  const before = await sealedBy()
  const rotated = await runCommand(['files', 'rotate', '--json'], {
    env: { DATABASE_URL, DATA_DIR, APP_KEY: NEWER, APP_PREVIOUS_KEYS: KEY },
  })

  expect(JSON.parse(rotated.stdout)).toMatchObject({ renewed: 1, unknown: 0 })
  expect(await sealedBy()).not.toBe(before)
  await using later = await startApp({ APP_KEY: NEWER, DATABASE_URL, DATA_DIR })
  const again = openBrowser(later.url)
  await again.login('uma')
  const { status, bytes } = await fetchExport(later, again, 1)
  expect(status).toBe(200)
  expect(unpackExport(bytes).rows('accounts')).toHaveLength(1)
})

test('asking for an export and fetching it stand in the audit log', async () => {
  const { browser, id: userId } = await personWithData('oda')
  const { id } = await makeExport(browser)
  await fetchExport(svc, browser, id)
  await svc.services.process.audit.flush()

  const { entries } = await svc.host.audit.list({ actor: `user:${userId}`, act: 'personExports.' })
  expect(entries.map(({ act, subject, outcome }) => [act, subject, outcome])).toEqual([
    ['personExports.download', `user:${userId}`, 'ok'],
    ['personExports.request', `user:${userId}`, 'ok'],
  ])
})

test('an export that failed says so, and another one may be asked for', async () => {
  const { browser, id: userId } = await personWithData('pia')
  const [waiting] = await svc.rows<{ id: number }>(
    `insert into person_exports (user_id, expires_at) values ($1, now() + interval '1 day') returning id`,
    [userId],
  )

  await svc.host.personExports.giveUp({ exportId: waiting?.id ?? 0 })

  expect(await readCurrentExport(browser)).toMatchObject({ state: 'failed' })
  expect((await makeExport(browser)).state).toBe('ready')
})

test('an export whose job was lost is made all the same', async () => {
  const { browser, id: userId } = await personWithData('quin')
  await svc.rows(`insert into person_exports (user_id, expires_at) values ($1, now() + interval '1 day')`, [userId])

  await svc.host.personExports.deleteExpired()

  await expect.poll(async () => (await readCurrentExport(browser))?.state, { timeout: 60_000 }).toBe('ready')
})

test('many rows come in several files, and none of them is missing', async () => {
  const person = await personWithData('rob')
  await svc.rows(
    `insert into usage_records (user_id, context, provider, model, input_tokens, outcome, duration_ms, request_id)
     select $1, 'api', 'demo', 'demo', n, 'completed', 5, 'r' from generate_series(1, 2499) n`,
    [person.id],
  )

  const archive = await fetchArchive(person)

  const { files, rows } = archive.manifest.types['usage-records'] ?? {}
  expect(files).toEqual([1, 2, 3].map((n) => `data/usage-records${n > 1 ? `-${n}` : ''}.json`))
  expect(rows).toBe(2500)
  expect(new Set(archive.rows('usage-records').map(({ id }) => id)).size).toBe(2500)
})

test('a damaged file keeps nobody from the others', async () => {
  const person = await personWithData('sue')
  const [damaged, gone, whole] = await Promise.all(
    ['one', 'two', 'three'].map((name) => upload(svc, person.token, name)),
  )
  const pathOf = (attachment: typeof damaged) => {
    const name = String(attachment?.one.attributes['uuid'])
    return join(svc.folder, 'files/sealed', name.slice(0, 2), name)
  }
  await writeFile(pathOf(damaged), 'something else')
  await svc.services.files.attachments.remove([String(gone?.one.attributes['uuid'])])

  const archive = await fetchArchive(person)

  const pathsOf = (...attachments: (typeof damaged)[]) => attachments.map((each) => `files/${each?.one.id}.txt`)
  expect(archive.manifest.damagedFiles.sort()).toEqual(pathsOf(damaged, gone).sort())
  expect(archive.text(pathsOf(whole)[0] ?? '')).toBe('three')
})

test('the host has an export made for somebody, or writes it into a file', async () => {
  const { browser, id } = await personWithData('tom')
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  const env = { DATABASE_URL, DATA_DIR }
  const file = join(svc.folder, 'tom.zip')

  const result = await runCommand(['export-user', '--username', 'tom'], { env })
  expect(result).toMatchObject({ exitCode: 0, stdout: expect.stringContaining('tom is being made') })
  await expect.poll(async () => (await readCurrentExport(browser))?.state, { timeout: 60_000 }).toBe('ready')

  const written = await runCommand(['export-user', '--username', 'tom', '--file', file], { env })
  expect(written).toMatchObject({ exitCode: 0, stderr: '' })
  expect(unpackExport(await readFile(file)).rows('conversations')).toMatchObject([
    { attributes: { name: 'talk of tom' } },
  ])
  expect(await runCommand(['export-user', '--username', 'tom', '--file', file], { env })).toMatchObject({ exitCode: 2 })
  const { entries } = await svc.host.audit.list({ actor: 'host', subject: `user:${id}`, act: 'personExports.' })
  expect(entries.map(({ act }) => act)).toEqual(['personExports.write', 'personExports.requestFor'])
})

test('an export into a file that is interrupted leaves nothing of it', async () => {
  await personWithData('tim')
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  await using blocker = await openClient(DATABASE_URL)
  await blocker.query('begin; lock table usage_bills in access exclusive mode')
  const argv = ['export-user', '--username', 'tim', '--file', join(svc.folder, 'tim.zip')]
  await using exporting = startProcess({ DATABASE_URL, DATA_DIR }, [
    process.execPath,
    join(root, 'cli/svc.ts'),
    ...argv,
  ])
  const files = async () => (await readdir(svc.folder)).filter((name) => name.startsWith('tim.zip'))
  await expect.poll(files).toEqual(['tim.zip.part'])

  exporting.signalAll('SIGINT')

  expect(await exporting.ended).toBe(128 + constants.signals.SIGINT)
  expect(await files()).toEqual([])
})
