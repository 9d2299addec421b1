import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { expect, test, vi } from 'vitest'
import { mediaType } from '../kit/json-api/client.ts'
import { createDataFolder, root, startProcess } from '../kit/service-process.ts'

vi.setConfig({ testTimeout: 15 * 60_000 })

const run = promisify(execFile)

test('every acknowledged write survives kills of the service and its database', async () => {
  await using folder = await createDataFolder()
  const settings = { DATA_DIR: folder.path, PORT: '0' }
  const token = await firstAdministrator(settings)
  const answered: string[] = []

  for (let round = 0; round < 8; round++) {
    await using service = startProcess(settings)
    const url = await service.ready()
    expect(await storedTypes(url, token)).toEqual(expect.arrayContaining(answered))
    const writing = writeUntilKilled(url, token, `round-${round}`, answered)
    await pause(100 + Math.random() * 1500)
    const database = await folder.postgres()
    service.kill('SIGKILL')
    if (round % 2 === 1 && database) process.kill(database, 'SIGKILL')
    await service.ended
    await writing
  }

  await using last = startProcess(settings)
  const url = await last.ready()
  expect(answered.length).toBeGreaterThan(0)
  expect(await storedTypes(url, token)).toEqual(expect.arrayContaining(answered))
})

/** Starts a service for the first time and makes its demo user an administrator. Returns a token that may write. */
async function firstAdministrator(settings: { DATA_DIR: string; PORT: string }): Promise<string> {
  await using service = startProcess(settings)
  await service.ready()
  const svc = (...argv: string[]) =>
    run(process.execPath, [join(root, 'cli/svc.ts'), ...argv], { cwd: root, env: { HOME: tmpdir(), ...settings } })
  await svc('set-role', '--username', 'demo', '--role', 'admin')
  const { stdout } = await svc('token', '--username', 'demo', '--name', 'kills', '--abilities', 'read,write', '--json')
  return (JSON.parse(stdout) as { token: string }).token
}

/** Creates prompts one by one, and records the type of each acknowledged one. */
async function writeUntilKilled(url: string, token: string, prefix: string, answered: string[]): Promise<void> {
  for (let number = 0; ; number++) {
    const promptType = `${prefix}-${number}`
    const attributes = { promptType, locale: 'en_US', prompt: 'Be brief.' }
    const created = await fetch(`${url}/api/svc/v1/system-prompts`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': mediaType },
      body: JSON.stringify({ data: { type: 'system-prompts', attributes } }),
    }).catch(() => undefined)
    if (!created) return
    if (created.status === 201) answered.push(promptType)
  }
}

/** The types of all prompts that are stored. */
async function storedTypes(url: string, token: string): Promise<string[]> {
  const types: string[] = []
  let next: string | undefined = '/api/svc/v1/system-prompts?page[size]=1000'
  while (next) {
    const answer = await fetch(new URL(next, url), { headers: { authorization: `Bearer ${token}` } })
    const { data, links } = (await answer.json()) as Listed
    types.push(...data.map(({ attributes }) => attributes.promptType))
    next = links.next ? new URL(links.next, url).pathname + new URL(links.next, url).search : undefined
  }
  return types
}

interface Listed {
  data: { attributes: { promptType: string } }[]
  links: { next?: string | null }
}
