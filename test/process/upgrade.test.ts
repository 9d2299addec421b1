import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { runCommand } from '../kit/command-line.ts'
import { createEmptyDatabase } from '../kit/database.ts'
import { base, mediaType } from '../kit/json-api/client.ts'
import { askService } from '../kit/service-client.ts'
import { createDataFolder, root, startProcess } from '../kit/service-process.ts'

vi.setConfig({ testTimeout: 300_000 })

const git = async (...args: string[]) => (await promisify(execFile)('git', args, { cwd: root })).stdout.trim()

/** The migration that added the audit log, which the fixture's installation lacks. */
const FIRST_LATER = 'entities/events/audit-entry.ts'

/** Checks out the code that made the fixture; returns undefined if this checkout lacks its history. */
async function checkOutEarlier() {
  const later = await git('log', '-1', '--format=%H', '--diff-filter=A', '--', FIRST_LATER).catch(() => '')
  const earlier = later && (await git('rev-parse', '--verify', `${later}^`).catch(() => ''))
  if (!earlier) return undefined
  const path = await mkdtemp(join(tmpdir(), 'svc-earlier-'))
  const archive = spawn('git', ['archive', earlier], { cwd: root, stdio: ['ignore', 'pipe', 'inherit'] })
  const unpacking = spawn('tar', ['-x', '-C', path], { stdio: [archive.stdout, 'inherit', 'inherit'] })
  await once(unpacking, 'close')
  await symlink(join(root, 'node_modules'), join(path, 'node_modules'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
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
  await using earlier = await checkOutEarlier()
  const start = [process.execPath, '--disable-warning=ExperimentalWarning', 'server/start.js']
  await using older = earlier && startProcess({ ...env, PORT: '0' }, start, earlier.path)
  if (older) urls.push(await older.ready())

  for (const url of urls) {
    const messages = await messagesIn(url, token, room)
    expect((await askService(url, token)).status).toBe(200)
    expect(await write(url, token, room)).toBe(201)
    // Both versions read the data of either.
    for (const other of urls) expect(await messagesIn(other, token, room)).toBe(messages + 1)
  }
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
