import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildQuestion, neverEnds, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import {
  EXT_APPS as APPS,
  APPS_ON,
  addApp,
  appPublicKey,
  establishConnection,
  openSealed,
} from '../kit/apps/ext-app.ts'
import { signIn } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'

const resources = new AsyncDisposableStack()
const folder = await mkdtemp(join(tmpdir(), 'svc-apps-'))
const file = join(folder, 'apps.yaml')
let svc: TestApp
let listedAtStart: object[]
beforeAll(async () => {
  const provider = resources.use(await startProvider(neverEnds))
  const config = resources.use(await writeConfig(provider.url))
  await write([portal])
  svc = resources.use(await startApp({ ...APPS_ON, AI_CONFIG: config.file, EXT_APPS: file }))
  listedAtStart = await listApps()
})
afterAll(async () => {
  await resources.disposeAsync()
  await rm(folder, { recursive: true })
})

interface Connection {
  connectionType: string
  extAppConnectRequest: string
  extAppSecrets: { apiToken: string }
}

const portal = {
  name: 'Portal',
  url: 'https://portal.example',
  redirectUrls: ['https://portal.example/back'],
  publicKey: appPublicKey,
  abilities: ['ai'],
  needsKeys: false,
}
const write = (apps: object[]) => writeFile(file, JSON.stringify({ apps }, null, 2))

const command = (...argv: string[]) => {
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  return runCommand(argv, { env: { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2', EXT_APPS: file } })
}
const listApps = async () =>
  JSON.parse((await command('app', 'list', '--json')).stdout) as { id: number; name: string }[]
const idOfPortal = async () => {
  const [row] = await svc.rows<{ id: string }>(`select id::text from ext_apps where name = 'Portal'`)
  return String(row?.id)
}
/** Changes an app with an administrator's token; returns the status. */
const patch = async (id: string, attributes: object) => {
  const { token } = await svc.user({ role: 'admin', abilities: ['read', 'write', 'admin'] })
  const read = await svc.send('GET', `${APPS}/${id}`, { token })
  const headers = { 'content-type': 'application/vnd.api+json', 'if-match': read.headers.get('etag') ?? '' }
  const body = { data: { type: 'ext-apps', id, attributes } }
  return (await svc.send('PATCH', `${APPS}/${id}`, { token, headers, body })).status
}
const sync = async (apps: object[]) => {
  await write(apps)
  return JSON.parse((await command('app', 'sync', '--json')).stdout)
}

test('an app of the file gets credentials by command and changes only there', async () => {
  expect(listedAtStart).toMatchObject([{ name: 'Portal', active: true, fromFile: true }])
  await sync([portal])
  const id = await idOfPortal()
  const made = await addApp(svc, { name: 'Made by hand' })
  const { credential } = JSON.parse((await command('app', 'rotate', id, '--json')).stdout)
  const connection = async () => {
    const answer = await svc.send('GET', '/api/svc/v1/connections/learner', { token: credential })
    const { data } = (await answer.json()) as { data?: { attributes: Connection } }
    return { status: answer.status, ...(data?.attributes as Partial<Connection>) }
  }
  const { browser } = await signIn(svc)
  const request = String((await connection()).extAppConnectRequest)
  expect((await establishConnection(browser, request, {})).status).toBe(200)
  const token = openSealed((await connection()).extAppSecrets?.apiToken ?? '')
  const headers = { accept: 'text/event-stream' }
  const stream = await svc.send('POST', '/api/ai-req', { token, headers, body: buildQuestion() })
  const reading = stream.text()

  for (const change of [{ name: 'Ours' }, { publicKey: null }])
    await expect(svc.host.extApps.update({ id, ...change })).rejects.toMatchObject({ problem: 'conflict' })
  await expect(svc.host.extApps.delete({ id })).rejects.toMatchObject({ problem: 'conflict' })
  expect(await sync([])).toEqual({ apps: 0, switchedOff: ['Portal'], stayedOff: [] })

  expect(await reading, 'what it has under way ends').toContain('event: delta')
  expect((await connection()).status).toBe(401)
  expect((await svc.send('GET', '/api/user', { token })).status).toBe(401)
  expect(await browser.send('GET', `${APPS}/${request}`)).toMatchObject({ status: 400 })
  expect((await made.connection('learner')).status, 'of another app').toBe(200)

  expect(await sync([{ ...portal, description: 'Back again' }])).toEqual({ apps: 1, switchedOff: [], stayedOff: [] })
  expect(await connection()).toMatchObject({ status: 200, connectionType: 'external_app_authenticated' })
  expect((await svc.host.extApps.show({ id })).description).toBe('Back again')
  expect(await sync([])).toMatchObject({ switchedOff: ['Portal'] })
  expect(await sync([])).toMatchObject({ switchedOff: [] })
  await svc.host.extApps.delete({ id })
  expect(await listApps()).toMatchObject([{ name: 'Made by hand', fromFile: false }])
})

test('an app of the file that an administrator switches off stays off despite synchronisation', async () => {
  const isOn = async () =>
    (await svc.rows<{ active: boolean }>('select active from ext_apps where id = $1', [Number(id)]))[0]?.active
  await sync([portal])
  const id = await idOfPortal()
  const { meta } = await svc.host.extApps.rotateCredential({ id })
  const calls = async () => (await svc.send('GET', '/api/svc/v1/users/me', { token: meta.credential })).status
  expect(await calls()).toBe(200)

  expect(await patch(id, { active: false, url: 'https://elsewhere.example' }), 'with more than that').toBe(409)
  expect(await patch(id, { active: false })).toBe(200)

  expect(await calls()).toBe(401)
  expect([await patch(id, { name: 'Ours' }), await isOn()]).toEqual([409, false])
  expect(await sync([portal]), 'it is named').toEqual({ apps: 1, switchedOff: [], stayedOff: ['Portal'] })
  await expect(svc.host.extApps.delete({ id })).rejects.toMatchObject({ problem: 'conflict' })
  await sync([])
  expect(await sync([portal]), 'back in the file').toMatchObject({ stayedOff: ['Portal'] })
  expect([await calls(), await isOn()]).toEqual([401, false])
  expect([await patch(id, { active: true }), await calls()]).toEqual([200, 200])
  expect(await sync([portal])).toMatchObject({ stayedOff: [] })
})

test('an app that left the file belongs to the administrators, who may change it', async () => {
  await sync([portal])
  const id = await idOfPortal()
  expect(await sync([])).toMatchObject({ switchedOff: ['Portal'] })

  expect(await patch(id, { active: true })).toBe(200)

  expect(await sync([])).toEqual({ apps: 0, switchedOff: [], stayedOff: [] })
  expect(await patch(id, { description: 'Ours now' })).toBe(200)
  expect(await svc.host.extApps.show({ id })).toMatchObject({ active: true, fromFile: false, description: 'Ours now' })
  expect(await patch(id, { active: false })).toBe(200)
  expect(await sync([portal]), 'off by hand, and then in the file').toMatchObject({ stayedOff: ['Portal'] })
  await sync([])
  await svc.host.extApps.delete({ id })
})

test('without the setting no app of the file is switched off by anything', async () => {
  await sync([portal])
  const { DATABASE_URL = '', DATA_DIR, AI_CONFIG = '' } = svc.env

  const result = await runCommand(['app', 'sync'], { env: { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2' } })
  await using replica = await startApp({ ...APPS_ON, DATABASE_URL, DATA_DIR, AI_CONFIG })

  expect(result).toMatchObject({ exitCode: 2, stdout: '', stderr: expect.stringContaining('EXT_APPS is not set') })
  expect(replica.log.find((line) => line.includes('stay as they are'))).toContain('"apps":["Portal"]')
  expect(await svc.rows(`select active from ext_apps where name = 'Portal'`)).toEqual([{ active: true }])
})

test.for([
  ['line 7, apps.0.redirectUrls.0: must begin with https://', { redirectUrls: ['http://portal.example'] }],
  ['apps.0.redirectUrls.0: must have no *', { redirectUrls: ['https://*.example/back'] }],
  ['apps.0.url: must have no name and no password', { url: 'https://name:word@portal.example/' }],
  ['line 3, apps.0: Unrecognized key: "privateKey"', { privateKey: 'secret words' }],
  ['apps.0.publicKey: must be an RSA key', { publicKey: '-----BEGIN PRIVATE KEY-----\nMIIE secret words' }],
  ['apps.1.name: there are two apps named Portal', {}],
] as const)('a wrong file of apps names the line without its content, unapplied: %s', async ([says, change]) => {
  const before = await svc.rows('select * from ext_apps order by id')
  await write([{ ...portal, ...change }, ...(Object.keys(change).length > 0 ? [] : [portal])])

  const result = await command('app', 'sync')

  expect(result).toMatchObject({ exitCode: 1, stdout: '', stderr: expect.stringContaining(says) })
  expect(result.stderr).not.toContain('secret words')
  expect(await svc.rows('select * from ext_apps order by id')).toEqual(before)
})
