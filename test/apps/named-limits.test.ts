import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildQuestion, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { APPS_ON, addApp, appPublicKey, establishConnection, openSealed } from '../kit/apps/ext-app.ts'
import { signIn, type TestBrowser } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'

const resources = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'svc-named-limits-'))
const LIMITS = join(folder, 'limits.json')
const EXT_APPS = join(folder, 'apps.json')
let svc: TestApp
beforeAll(async () => {
  const provider = resources.use(await startProvider())
  const config = resources.use(await writeConfig(provider.url))
  const of = (target: string) => ({
    name: target.replace(':', ' '),
    for: target,
    cap: 1,
    unit: 'requests',
    per: 'month',
  })
  const limits = ['user:ada', 'app:Gone', 'app:Portal', 'app:Synced'].map(of)
  await writeFile(LIMITS, JSON.stringify({ limits }))
  await writeFile(EXT_APPS, JSON.stringify({ apps: [] }))
  svc = resources.use(await startApp({ ...APPS_ON, AI_CONFIG: config.file, LIMITS, EXT_APPS }))
})
afterAll(async () => {
  await resources.disposeAsync()
  await rm(folder, { recursive: true })
})

const sendQuestion = async (token: string) =>
  (await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })).status
const sendTwice = async (token: string) => [await sendQuestion(token), await sendQuestion(token)]
const holder = async (name: string) =>
  (await svc.rows<{ of: string }>('select subject_id as of from usage_limits where name = $1', [name]))[0]?.of

/** Creates an app that is linked to a person, and so has a token of theirs. */
async function linkedApp(browser: TestBrowser, name: string) {
  const app = await addApp(svc, { name, needsKeys: false })
  await establishConnection(browser, await app.connectRequest('learner'), {})
  return { id: app.id, token: (await app.secrets('learner')).apiToken }
}

test("a limit of the file holds for an erased person's username when created again", async () => {
  const before = await svc.user({ username: 'ada' })
  expect(await sendTwice(before.token)).toEqual([200, 429])
  await svc.host.limits.set({ name: 'by hand', for: 'user:ada', cap: 9, unit: 'tokens', per: 'day' } as never)

  await svc.host.admin.removeUser({ user: { username: 'ada' } })

  expect(await holder('user ada')).toBe('name:ada')
  expect(await holder('by hand'), 'of an administrator').not.toBe('name:ada')
  const after = await svc.user({ username: 'ada' })
  expect(await sendTwice(after.token)).toEqual([200, 429])
})

test("a limit of the file holds for a deleted app's name when created again", async () => {
  const { browser } = await signIn(svc, 'cleo')
  const before = await linkedApp(browser, 'Gone')
  expect(await sendTwice(before.token)).toEqual([200, 429])

  await svc.host.extApps.delete({ id: before.id })

  expect(await holder('app Gone')).toBe('name:Gone')
  const after = await linkedApp(browser, 'Gone')
  expect(await sendTwice(after.token)).toEqual([200, 429])
})

test('a limit of the file follows the name when apps are renamed', async () => {
  const { browser } = await signIn(svc, 'dora')
  const first = await linkedApp(browser, 'Portal')
  const second = await linkedApp(browser, 'Library')
  expect(await sendTwice(first.token)).toEqual([200, 429])

  await svc.host.extApps.update({ id: first.id, name: 'Old portal', description: 'Used before' })
  expect(await holder('app Portal')).toBe('name:Portal')
  expect(await sendQuestion(first.token)).toBe(200)
  expect(await sendTwice(second.token)).toEqual([200, 200])
  await svc.host.extApps.update({ id: second.id, name: 'Portal' })

  expect(await holder('app Portal')).toBe(second.id)
  expect(await sendTwice(second.token)).toEqual([200, 429])
  await svc.host.extApps.update({ id: second.id, name: 'Portal', description: 'The same name' })
  expect(await sendQuestion(second.token)).toBe(429)
})

test('a limit of the file holds for an app imported while the service runs', async () => {
  const { browser } = await signIn(svc, 'emil')
  const app = {
    name: 'Synced',
    url: 'https://portal.example',
    redirectUrls: ['https://portal.example/back'],
    publicKey: appPublicKey,
    abilities: ['ai'],
    needsKeys: false,
  }
  await writeFile(EXT_APPS, JSON.stringify({ apps: [app] }))
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  const env = { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2', EXT_APPS }

  expect(await runCommand(['app', 'sync'], { env })).toMatchObject({ exitCode: 0, stderr: '' })

  const [made] = await svc.rows<{ id: number }>(`select id from ext_apps where name = 'Synced'`)
  expect(await holder('app Synced')).toBe(`${made?.id}`)
  const { meta } = await svc.host.extApps.rotateCredential({ id: `${made?.id}` })
  const connection = async () => {
    const answer = await svc.send('GET', '/api/svc/v1/connections/learner', { token: String(meta.credential) })
    return ((await answer.json()) as { data: { attributes: Connection } }).data.attributes
  }
  await establishConnection(browser, (await connection()).extAppConnectRequest, {})
  expect(await sendTwice(openSealed((await connection()).extAppSecrets.apiToken))).toEqual([200, 429])
})

interface Connection {
  extAppConnectRequest: string
  extAppSecrets: { apiToken: string }
}
