import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { send } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { base, createApiClient, mediaType } from '../kit/json-api/client.ts'
import { queryRows } from '../kit/postgres-client.ts'
import { fetchAnswer } from '../kit/service-client.ts'
import { createDataFolder, root, startProcess } from '../kit/service-process.ts'
import { findAccepted, startUpgradeLoad } from '../kit/upgrade-load.ts'

vi.setConfig({ testTimeout: 300_000 })

const execute = promisify(execFile)
const git = async (...args: string[]) => (await execute('git', args, { cwd: root })).stdout.trim()

/** The migration that added the audit log, which the fixture's installation lacks. */
const FIRST_LATER = 'entities/events/audit-entry.ts'

/** The version before the first migration that changes tables which calls and messages use all the time. */
const BEFORE_CHANGES = 'b8d0579c05d724ebf8346f4a07ee9932e035d249'

const start = [process.execPath, '--disable-warning=ExperimentalWarning', 'server/start.js']

/** Returns the commit that made the fixture. */
async function findEarlier(): Promise<string> {
  return `${await git('log', '-1', '--format=%H', '--diff-filter=A', '--', FIRST_LATER)}^`
}

/** Checks out an earlier version; returns undefined if this checkout lacks its history. */
async function checkOut(commit: string) {
  const earlier = await git('rev-parse', '--verify', '--quiet', `${commit}^{commit}`).catch(() => '')
  if (!earlier) return undefined
  const path = await mkdtemp(join(tmpdir(), 'svc-earlier-'))
  const archive = spawn('git', ['archive', earlier], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const unpacking = spawn('tar', ['-x', '-C', path], { stdio: [archive.stdout, 'inherit', 'inherit'] })
  await once(unpacking, 'close')
  await symlink(join(root, 'node_modules'), join(path, 'node_modules'))
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 }),
  }
}

test('the earlier version goes on beside the newer one that has upgraded its installation', async () => {
  const fixture = join(import.meta.dirname, '../fixtures/earlier-installation')
  const { username, room } = JSON.parse(await readFile(`${fixture}.json`, 'utf8')) as Record<
    'username' | 'room',
    string
  >
  await using database = await createEmptyDatabase()
  await using folder = await createDataFolder()
  const env = {
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    APP_KEY: 'the key of the installation, which is kept apart from its backups',
  }
  expect(await runCommand(['backup', 'restore', fixture], { env })).toMatchObject({ exitCode: 0, stderr: '' })
  const made = await runCommand(['token', '--username', username, '--name', 'both', '--abilities', 'ai,read,write'], {
    env,
  })
  const token = /svc_\S+/.exec(made.stdout)?.[0] ?? ''
  await using newer = startProcess({ ...env, PORT: '0' })
  const urls = [await newer.ready()]
  await using earlier = await checkOut(await findEarlier())
  await using older = earlier && startProcess({ ...env, PORT: '0' }, start, earlier.path)
  if (older) urls.push(await older.ready())

  for (const url of urls) {
    const messages = await messagesIn(url, token, room)
    expect((await fetchAnswer(url, token)).status).toBe(200)
    expect(await write(url, token, room)).toBe(201)
    // Both versions read the data of either.
    for (const other of urls) expect(await messagesIn(other, token, room)).toBe(messages + 1)
  }
})

test('an upgrade under load loses no call, message or file', async ({ skip }) => {
  await using earlier = await checkOut(BEFORE_CHANGES)
  if (!earlier) return skip('the checkout has no history')
  await using database = await createEmptyDatabase()
  await using folder = await createDataFolder()
  await using provider = await startProvider(async (request, response) => {
    await pause(20)
    await answers('Good day.')(request, response)
  })
  await using config = await writeConfig(provider.url)
  const env = { DATABASE_URL: database.url, DATA_DIR: folder.path, AI_CONFIG: config.file, PORT: '0' }
  await using older = startProcess(env, start, earlier.path)
  const target = { url: await older.ready() }
  const flags = ['token', '--username', 'demo', '--name', 'load', '--abilities', 'ai,read,write']
  const made = await execute(process.execPath, ['cli/svc.ts', ...flags], {
    cwd: earlier.path,
    env: { PATH: process.env['PATH'], ...env },
  })
  const token = /svc_\w+/.exec(made.stdout)?.[0] ?? ''
  const { one: room } = await createApiClient({ send: (...to) => send(target.url, ...to) }, token).create('rooms', {
    name: 'Chess',
  })
  await using load = startUpgradeLoad(target, token, room.id)
  const { accepted, failures } = load
  const waitForMore = async () => {
    const before = { calls: accepted.calls, messages: accepted.messages.length, files: accepted.files.length }
    await expect.poll(() => accepted.calls).toBeGreaterThan(before.calls + 50)
    await expect.poll(() => accepted.messages.length).toBeGreaterThan(before.messages + 50)
    await expect.poll(() => accepted.files.length).toBeGreaterThan(before.files + 10)
  }

  await waitForMore()
  await using newer = startProcess(env)
  const url = await newer.ready()
  // The earlier version goes on beside the newer one, until a balancer has left it.
  await waitForMore()
  target.url = url
  await waitForMore()
  await load.stop()
  expect(await older.stop()).toBe(0)
  const found = await findAccepted({ url }, token, accepted)
  const [{ calls } = {}] = await queryRows<{ calls: number }>(
    database.url,
    `select count(*)::int as calls from usage_records where outcome = 'completed'`,
  )
  expect(failures).toEqual([])
  expect({ ...found, calls }).toEqual(accepted)
})

const headers = (token: string) => ({ authorization: `Bearer ${token}`, 'content-type': mediaType })

async function messagesIn(url: string, token: string, room: string): Promise<number> {
  const response = await fetch(`${url}${base}/rooms/${room}/messages`, { headers: headers(token) })
  const { data } = (await response.json()) as { data: unknown[] }
  return data.length
}

async function write(url: string, token: string, room: string): Promise<number> {
  const attributes = { content: `aXYxMjM0NTY3ODkw|dGFnMTIzNDU2Nzg5MDEy|${'Y2lwaGVydGV4dA'.repeat(4)}` }
  const relationships = { room: { data: { type: 'rooms', id: room } } }
  const body = JSON.stringify({ data: { type: 'room-messages', attributes, relationships } })
  return (await fetch(`${url}${base}/room-messages`, { method: 'POST', headers: headers(token), body })).status
}
