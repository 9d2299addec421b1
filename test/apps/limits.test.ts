import { expect, test } from 'vitest'
import { buildQuestion, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { APPS_ON, addApp, establishConnection } from '../kit/apps/ext-app.ts'
import { signIn } from '../kit/browser.ts'
import { runCommand } from '../kit/command-line.ts'
import { shareResource } from '../kit/share-resource.ts'

const provider = shareResource(startProvider)
const config = shareResource(() => writeConfig(provider.url))
const svc = shareResource(() => startApp({ ...APPS_ON, AI_CONFIG: config.file }))

const command = (...argv: string[]) => {
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  return runCommand(argv, { env: { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2' } })
}

/** Asks a question; returns the status and, for a refusal, its code and reason. */
async function sendQuestion(token: string) {
  const answer = await svc.send('POST', '/api/ai-req', { token, body: buildQuestion() })
  const { code, message } = (await answer.json()) as { code?: string; message?: string }
  return { status: answer.status, ...(code && { code, message }) }
}

/** Creates a person with a token of their own and one for each app; the tokens may also read the usage. */
async function person(username: string, apps: string[]) {
  const signedIn = await signIn(svc, username)
  const tokens = []
  for (const name of apps) {
    const app = await addApp(svc, { name, needsKeys: false, abilities: ['ai', 'read'] })
    await establishConnection(signedIn.browser, await app.connectRequest('learner'), {})
    tokens.push({ id: app.id, token: (await app.secrets('learner')).apiToken })
  }
  return { ...signedIn, tokens }
}

const limit = (name: string, target: string, cap: string, ...more: string[]) =>
  command('limits', 'set', name, '--for', target, '--cap', cap, '--unit', 'requests', '--per', 'month', ...more)

async function readUsage(token: string): Promise<Record<string, number>> {
  const answer = await svc.send('GET', '/trpc/usage.limits', { token })
  const { result } = (await answer.json()) as { result: { data: { name: string; used: number }[] } }
  return Object.fromEntries(result.data.map((it) => [it.name, it.used]))
}

test('a call of an app counts for app, token and person under each limit', async () => {
  const ada = await person('ada', ['Portal', 'Library'])
  const [portal, library] = ada.tokens as [{ id: string; token: string }, { id: string; token: string }]
  expect(await limit('the portal', 'app:Portal', '1')).toMatchObject({ exitCode: 0, stderr: '' })
  await limit('each app', 'app', '2', '--mode', 'observe')
  await limit('each person', 'user', '5')
  await limit('each token', 'token', '5')

  expect((await sendQuestion(portal.token)).status).toBe(200)
  const refusal = await sendQuestion(portal.token)
  expect(refusal).toMatchObject({ status: 429, code: 'limit_reached' })
  expect(refusal.message).toContain("'the portal'")
  expect((await sendQuestion(ada.token)).status, 'by their own token').toBe(200)
  for (const status of [200, 200, 200])
    expect((await sendQuestion(library.token)).status, 'by another app').toBe(status)

  await svc.services.ai.usageLedger.flush()
  expect(await readUsage(portal.token)).toEqual({ 'the portal': 1, 'each app': 1, 'each person': 5, 'each token': 1 })
  expect(await readUsage(library.token)).toEqual({ 'each app': 3, 'each person': 5, 'each token': 3 })
  expect(await readUsage(ada.token)).toEqual({ 'each person': 5, 'each token': 1 })
  const observed = await svc.host.limits.show({ name: 'each app' })
  expect(observed.map(({ subjectId, refused }) => [subjectId, refused])).toEqual([
    [portal.id, 0],
    [library.id, 1],
  ])
  expect(await sendQuestion(ada.token), 'the fifth was the last of this month').toMatchObject({ status: 429 })

  expect(await svc.rows('select context, count(*)::int as calls from usage_records group by 1 order by 1')).toEqual([
    { context: 'api', calls: 1 },
    { context: 'external', calls: 4 },
  ])
  const { stdout } = await command('usage', '--by', 'app', '--csv')
  const lines = stdout.split('\r\n').map((line) => line.split(',', 2).join(','))
  expect(lines).toEqual(['app,requests', 'Library,3', 'Portal,1', ',1', ''])
  await svc.host.extApps.delete({ id: library.id })
  expect(JSON.parse((await command('usage', '--by', 'app', '--json')).stdout)).toMatchObject([
    { app: library.id, requests: 3 },
    { app: 'Portal', requests: 1 },
    { app: null, requests: 1 },
  ])
})

test('a limit of a missing app is refused with the reason', async () => {
  const result = await limit('nobody', 'app:Nowhere', '1')
  expect(result).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringContaining("no app with the name 'Nowhere'"),
  })
})
