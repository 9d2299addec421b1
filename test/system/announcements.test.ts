import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { decodeHTML } from 'entities'
import { afterEach, beforeAll, describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, buildFirstKeys, openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { newName } from '../kit/identity/people.ts'

let svc: TestApp
let env: Record<string, string>
let ada: Awaited<ReturnType<typeof signIn>>
let bob: Awaited<ReturnType<typeof signIn>>

beforeAll(async () => {
  svc = await startApp()
  env = { DATABASE_URL: String(svc.env.DATABASE_URL), DATA_DIR: svc.folder, DATABASE_POOL: '2' }
  ada = await signIn(svc, 'ada')
  bob = await signIn(svc, 'bob')
  return () => svc[Symbol.asyncDispose]()
})

/** Texts by language, as the folder of an announcement. */
async function write(view: string, texts: Record<string, string>): Promise<string> {
  const folder = join(svc.folder, 'announcements', view)
  await mkdir(folder, { recursive: true })
  for (const [locale, text] of Object.entries(texts)) await writeFile(join(folder, `${locale}.md`), text)
  return view
}

const publish = (...flags: string[]) => runCommand(['announcement', 'publish', ...flags, '--json'], { env })

async function published(...flags: string[]): Promise<number> {
  const { stdout, stderr } = await publish(...flags)
  expect(stderr).toBe('')
  return JSON.parse(stdout).id
}

const render = (browser: TestBrowser, id: number | string) => browser.send('GET', `/req/announcement/render/${id}`)
const readText = (browser: TestBrowser, id: number | string) =>
  browser.send('GET', `/trpc/announcements.read?input=${encodeURIComponent(JSON.stringify({ id: String(id) }))}`)
const mark = (browser: TestBrowser, how: 'seen' | 'report', id: number | string) =>
  browser.send('POST', `/req/announcement/${how}/${id}`)

const JSON_API = { 'content-type': 'application/vnd.api+json', 'sec-fetch-site': 'same-origin' }

/** Deletes all announcements before the next test. */
const withdraw = () => svc.rows('delete from announcements')

test('a new announcement has a file per language, and appears once published', async () => {
  const made = await runCommand(['announcement', 'make', 'Maintenance: Sunday!', '--json'], { env })
  const { view, files } = JSON.parse(made.stdout)

  expect(view).toMatch(/^\d{14}-maintenance-sunday$/)
  expect(files.map((file: string) => file.slice(-8))).toEqual(['de_DE.md', 'en_US.md'])
  expect(await readFile(files[1], 'utf8')).toContain('# Maintenance: Sunday!')
  const id = await published('Maintenance', view, '--type', 'news')
  expect((await render(ada.browser, id)).body).toMatchObject({
    success: true,
    view: expect.stringContaining('# Maint'),
  })
  const list = await runCommand(['announcement', 'list', '--json'], { env })
  expect(JSON.parse(list.stdout)).toMatchObject([{ id, title: 'Maintenance', type: 'news', seen: 0, accepted: 0 }])
  await withdraw()
})

test('an announcement is published with its texts, which the service stores', async () => {
  const { host } = svc
  const texts = { de_DE: 'Neue Regeln', en_US: 'New rules' }
  const first = await host.announcements.publish({ title: 'Rules: new!', texts })
  await host.announcements.publish({ title: 'Rules: new!', texts: { en_US: 'Others' } })
  await expect(host.announcements.publish({ title: 'X', texts, view: 'x' })).rejects.toThrow()
  await expect(host.announcements.publish({ title: 'X' })).rejects.toThrow()
  await expect(host.announcements.publish({ title: 'X', texts: { en_US: 'ä'.repeat(33_000) } })).rejects.toThrow()
  await expect(host.announcements.publish({ title: 'Nobody', texts, users: ['no-one'] })).rejects.toThrow()

  expect((await render(ada.browser, first.id)).body).toMatchObject({ view: 'New rules' })
  const folders = (await readdir(join(svc.folder, 'announcements'))).filter((name) => /rules-new|nobody|-x/.test(name))
  expect(folders).toEqual([
    expect.stringMatching(/^\d{14}-rules-new$/),
    expect.stringMatching(/^\d{14}-rules-new(-2)?$/),
  ])
  await mark(ada.browser, 'report', first.id)
  expect(await host.announcements.receipts({ id: String(first.id), size: 1 })).toMatchObject({
    rows: [{ username: 'ada', acceptedAt: expect.any(String) }],
    hasMore: false,
  })
  await withdraw()
})

test('a folder of announcements that cannot be written is told in a sentence', async () => {
  const file = join(svc.folder, 'no-folder')
  await writeFile(file, '')
  const made = await runCommand(['announcement', 'make', 'Rules', '--json'], { env: { ...env, ANNOUNCEMENTS: file } })
  expect([made.exitCode, made.stdout]).toEqual([
    1,
    expect.stringContaining('The folder of announcements cannot be written.'),
  ])
})

test('an announcement for some people is visible to them alone', async () => {
  const view = await write('some', { en_US: 'For Ada.' })
  const id = await published('Only Ada', view, '--users', 'ADA')

  expect((await render(ada.browser, id)).body).toEqual({ success: true, view: 'For Ada.' })
  expect([(await render(bob.browser, id)).status, (await render(bob.browser, id)).text]).toEqual([
    404,
    'Announcement not found or unauthorized',
  ])
  expect(await mark(bob.browser, 'report', id)).toMatchObject({ status: 400, body: { success: false } })
  expect((await render(openBrowser(svc.url), id)).status).toBe(401)
  expect(await mark(openBrowser(svc.url), 'seen', id)).toMatchObject({ status: 401 })
  const nobody = await publish('Nobody', view, '--users', 'ada,nobody', '--users=no-one', '--users', 'bob')
  expect(JSON.parse(nobody.stdout)).toMatchObject({
    error: { message: '--users names nobody there is: nobody, no-one.' },
  })
  expect(await svc.rows('select title from announcements')).toEqual([{ title: 'Only Ada' }])
  await withdraw()
})

test('a seen announcement stays pending, and an accepted one does not', async () => {
  const id = await published('News', await write('news', { en_US: 'First text' }))
  const pending = async () => {
    const answer = await svc.send('GET', '/trpc/announcements.pending', { token: ada.token })
    return ((await answer.json()) as { result: { data: unknown } }).result.data
  }

  expect(await mark(ada.browser, 'seen', id)).toMatchObject({
    status: 200,
    body: { success: true, message: 'Announcement marked as seen' },
  })
  expect(await pending()).toMatchObject([{ id: String(id), title: 'News', type: 'info', isForced: false }])
  expect((await mark(ada.browser, 'report', id)).body).toMatchObject({ message: 'Announcement marked as accepted' })
  const receipts = () => svc.rows('select user_id, seen_at, accepted_at, version from announcement_receipts')
  const first = await receipts()
  await write('news', { en_US: 'Second text' })
  await mark(ada.browser, 'report', id)

  expect(await pending()).toEqual([])
  expect(first).toMatchObject([
    { user_id: ada.id, accepted_at: expect.any(String), version: expect.stringMatching(/^\w{64}$/) },
  ])
  expect(await receipts()).toEqual(first)
  await withdraw()
})

test('an announcement is visible between its start and end, which must be ordered', async () => {
  const view = await write('times', { en_US: 'When?' })
  const before = await published('Later', view, '--start', '2999-01-01T00:00:00Z')
  const after = await published('Over', view, '--start', '2020-01-01T00:00:00Z', '--expire', '2020-01-02T00:00:00Z')

  expect([(await render(ada.browser, before)).status, (await render(ada.browser, after)).status]).toEqual([404, 404])
  for (const [says, ...flags] of [
    ['--expire must be later', '--start', '2030-01-02T00:00:00Z', '--expire', '2030-01-01T00:00:00Z'],
    ['must be a time', '--start', 'tomorrow'],
    ['--start must be in a year from 0001 to 9999', '--start', '0000-01-01T00:00:00Z'],
    ['--start must be in a year from 0001 to 9999', '--start', '0001-01-01T00:00:00+14:00'],
    ['--expire must be in a year from 0001 to 9999', '--expire', '9999-12-31T23:59:59-12:00'],
    ['--type', '--type', 'rumour'],
    ['must be the name of an event', '--anchor', 'a b'],
  ] as const)
    expect(await publish('Wrong', view, ...flags)).toMatchObject({ exitCode: 2, stdout: expect.stringContaining(says) })
  expect((await publish('Wrong', '../../etc')).exitCode).toBe(2)
  expect((await publish('Wrong', 'nothing-there')).stdout).toContain('has no text')
  for (const id of ['0', '-1', '1e9', '999999999999', 'x', '%00'])
    expect((await render(ada.browser, id)).status, id).toBe(404)
  await withdraw()
})

test("the newest policy is shown in the caller's language or another", async () => {
  const old = await write('old', { en_US: 'Old rules', de_DE: 'Alte Regeln' })
  const fresh = await write('fresh', { en_US: 'New rules' })
  await published('Old', old, '--type', 'policy')
  await published('Fresh', fresh, '--type', 'policy', '--force')
  await published('For Bob', old, '--type', 'policy', '--users', 'bob')
  const guest = openBrowser(svc.url)
  const latest = await guest.send('GET', '/req/announcement/fetchLatestPolicy', {
    headers: { 'x-app-locale': 'de_DE' },
  })

  expect([latest.status, latest.body]).toMatchObject([
    200,
    {
      success: true,
      announcement: { title: 'Fresh', type: 'policy', is_forced: true, is_global: true },
      view: 'New rules',
    },
  ])
  await withdraw()
  expect(await guest.send('GET', '/req/announcement/fetchLatestPolicy')).toMatchObject({
    status: 404,
    body: { success: false, message: 'Failed to fetch latest policy' },
  })
})

describe('a forced announcement', () => {
  let own: TestApp
  beforeAll(async () => {
    own = await startApp()
    return () => own[Symbol.asyncDispose]()
  })
  // The next test finds no announcement, and none of its texts.
  afterEach(async () => {
    await own.rows('delete from announcements')
    await rm(join(own.folder, 'announcements'), { recursive: true })
  })

  test('a forced announcement blocks writing and asking until it is accepted', async () => {
    const text = join(own.folder, 'announcements', 'rules')
    await mkdir(text, { recursive: true })
    await writeFile(join(text, 'en_US.md'), 'Be kind.')
    const { browser, id: userId, token } = await signIn(own, newName())
    const forced = { title: 'Rules', view: 'rules', force: true }
    await own.host.announcements.publish({ ...forced, anchor: 'FileUpload' })
    const { id } = await own.host.announcements.publish({ ...forced, type: 'policy' })
    const room = { data: { type: 'rooms', attributes: { name: 'Chess' } } }
    const write = () => browser.send('POST', '/api/svc/v1/rooms', { body: room, headers: JSON_API })
    const question = { payload: { model: 'demo', messages: [{ role: 'user', content: { text: 'Hello' } }] } }
    const sendQuestion = () => own.send('POST', '/api/ai-req', { token, body: question })

    expect(await write()).toMatchObject({
      status: 403,
      body: { errors: [{ code: 'announcement_pending', meta: { announcement: String(id) } }] },
    })
    const refused = await sendQuestion()
    expect([refused.status, await refused.json()]).toMatchObject([
      403,
      { success: false, code: 'announcement_pending' },
    ])
    expect((await browser.send('GET', '/api/svc/v1/connections/svc')).status).toBe(200)
    expect((await readText(browser, id)).text).toContain('Be kind.')
    await mark(browser, 'report', id)
    expect([(await write()).status, (await sendQuestion()).status]).toEqual([201, 200])
    // Usage records are written after the response; the refused call has none.
    await own.services.ai.usageLedger.flush()
    expect(await own.rows('select id from usage_records where user_id = $1', [userId])).toHaveLength(1)
  })

  test('a forced announcement without its text stays in force, and cannot be accepted', async () => {
    const text = join(own.folder, 'announcements', 'rules')
    const restore = async (content: string) => {
      await mkdir(text, { recursive: true })
      await writeFile(join(text, 'en_US.md'), content)
    }
    await restore('Be kind.')
    const { browser, token } = await signIn(own, newName())
    const { id } = await own.host.announcements.publish({ title: 'Rules', view: 'rules', type: 'policy', force: true })
    const sendQuestion = async () => {
      const payload = { model: 'demo', messages: [{ role: 'user', content: { text: 'Hello' } }] }
      const answer = await own.send('POST', '/api/ai-req', { token, body: { payload } })
      return [answer.status, await answer.text()]
    }
    const accepted = () => own.rows('select version from announcement_receipts where announcement_id = $1', [id])
    const read = /"version":"(\w{64})"/.exec((await readText(browser, id)).text)?.[1]

    for (const lose of [() => rm(text, { recursive: true }), () => restore(' \n')]) {
      await lose()
      expect(await sendQuestion()).toEqual([403, expect.stringContaining(`The announcement ${id} has no text.`)])
      expect(await readText(browser, id)).toMatchObject({ status: 404 })
      for (const body of [{}, { version: read }])
        expect(await browser.send('POST', `/req/announcement/report/${id}`, { body })).toMatchObject({
          status: 400,
          body: { success: false },
        })
      const headers = { 'sec-fetch-site': 'same-origin' }
      const body = { id: String(id) }
      const refused = await browser.send('POST', '/trpc/announcements.accept', { body, headers })
      expect([refused.status, refused.text]).toEqual([404, expect.stringContaining('has no text')])
      expect(await accepted()).toEqual([])
    }

    await restore('Be kinder.')
    await mark(browser, 'report', id)
    expect(await sendQuestion()).toMatchObject([200, expect.any(String)])
    expect(await accepted()).toEqual([{ version: expect.stringMatching(/^\w{64}$/) }])
  })

  test('an unreadable text is logged once per language, and missing for people', async () => {
    const text = join(own.folder, 'announcements', 'rules')
    await mkdir(text, { recursive: true })
    await writeFile(join(text, 'en_US.md'), 'Be kind.')
    const { browser } = await signIn(own, newName())
    const { id } = await own.host.announcements.publish({ title: 'Rules', view: 'rules', force: true })
    await rm(text, { recursive: true })
    await writeFile(text, 'no folder')
    const logged = own.log.length

    expect(await readText(browser, id)).toMatchObject({ status: 404 })
    await readText(browser, id)
    const complaints =
      own.log
        .slice(logged)
        .join('')
        .match(/rules.{1,3}\w+\.md: the text of an announcement cannot be read/g) ?? []
    expect([complaints.length > 0, complaints]).toEqual([true, [...new Set(complaints)]])
  })
})

interface PageData {
  policy?: { id: string; version: string; text: string }
}

/** Reads the data that the service has written into a page before the sign-in. */
const readPageData = (page: string) => JSON.parse(decodeHTML(/data-page="([^"]*)"/.exec(page)?.[1] ?? '')) as PageData

test('somebody who registers sees the policy, and their acceptance keeps its version', async () => {
  const view = await write('policy', { en_US: '# Rules\n\n<script>alert(1)</script>\n\n[CONFIRM](Yes)' })
  const id = await published('Policy', view, '--type', 'policy')
  await addAccount(svc, 'cleo', { known: false })
  const browser = openBrowser(svc.url)
  await browser.login('cleo')
  const page = await browser.send('GET', '/register')
  const { text } = await browser.send('GET', '/handshake')
  const { policy } = readPageData(text)
  const version = policy?.version

  expect(policy).toMatchObject({
    id: String(id),
    version: expect.stringMatching(/^\w{64}$/),
    text: expect.stringContaining('# Rules'),
  })
  expect(readPageData(page.text).policy).toEqual(policy)
  expect(page.text).not.toContain('<script>alert')
  const done = await browser.send('POST', '/handshake', { body: { ...buildFirstKeys(), policy: { id, version } } })
  expect(done.status).toBe(200)
  expect(
    await svc.rows('select version, accepted_at from announcement_receipts where announcement_id = $1', [id]),
  ).toEqual([{ version, accepted_at: expect.any(String) }])
  await withdraw()
})

test("somebody who registers without the policy's text must accept it later", async () => {
  const view = await write('lost', { en_US: 'Be kind.' })
  const id = await published('Lost', view, '--type', 'policy')
  await addAccount(svc, 'dora', { known: false })
  const browser = openBrowser(svc.url)
  await browser.login('dora')
  await browser.send('GET', '/register')
  await rm(join(svc.folder, 'announcements', view), { recursive: true })
  const policy = { id, version: '0'.repeat(64) }

  expect((await browser.send('POST', '/handshake', { body: { ...buildFirstKeys(), policy } })).status).toBe(200)
  expect(await svc.rows('select version from announcement_receipts where announcement_id = $1', [id])).toEqual([])
  await withdraw()
})
