import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import sharp from 'sharp'
import { describe, expect, test, vi } from 'vitest'
import { requiredInProduction } from '../../server/config/settings.ts'
import { writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { cloneDatabase, createEmptyDatabase } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { queryRows } from '../kit/postgres-client.ts'
import { fetchAnswer, readTokens, SLOW } from '../kit/service-client.ts'
import { createDataFolder, root, startProcess } from '../kit/service-process.ts'

const run = promisify(execFile)
/** The last line of a log. */
const lastLine = (log: string) => JSON.parse(log.trimEnd().split('\n').at(-1) ?? '')

const loadedPackages = join(import.meta.dirname, '../kit/loaded-packages.ts')

test('an installation prints no warning of the engines that packages want', async () => {
  await using folder = await createDataFolder()
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    await copyFile(join(root, name), join(folder.path, name))
  // The Node of the machine, which may be older than the one that the packages bring.
  const path = (process.env['PATH'] ?? '').split(':').filter((part) => !part.includes('node_modules'))
  const env = { PATH: path.join(':'), HOME: folder.path }

  const { stdout, stderr } = await run('npm', ['install', '--dry-run', '--offline'], { cwd: folder.path, env })

  expect(stdout).toMatch(/added \d+ packages/)
  expect(stdout + stderr).not.toContain('EBADENGINE')
})

describe('the first start', () => {
  test('the first start needs no settings and prints a request that works', async () => {
    await using folder = await createDataFolder()
    const first = startProcess({ DATA_DIR: folder.path, PORT: String(await findFreePort()) })
    await using _ = first
    await first.ready()

    const [command = ''] = first.output.out.match(/curl .*?\}\]\}\}'/s) ?? []
    expect(first.output.out.trimEnd().endsWith(command)).toBe(true)
    const { stdout } = await run('sh', ['-c', `${command} --silent`])

    expect(JSON.parse(stdout)).toEqual({ success: true, content: { text: expect.stringContaining('not an AI') } })
    expect(readTokens(first.output.out)).toHaveLength(1)
    expect(first.output.err).toBe('')
    expect(await first.stop()).toBe(0)
    expect(await folder.postgres()).toBeUndefined()

    const packages = join(folder.path, 'packages')
    const recorder = { NODE_OPTIONS: `--import=${loadedPackages}`, LOADED_PACKAGES: packages }
    await using second = startProcess({ DATA_DIR: folder.path, PORT: '0', ...recorder })
    const url = await second.ready()

    expect(second.output.out).not.toContain('svc_')
    expect(lastLine(second.output.out)).toMatchObject({ msg: 'ready', url, next: 'npm run svc -- token' })
    expect((await fetchAnswer(url, readTokens(first.output.out)[0] ?? '')).status).toBe(200)
    // The thread pool has eight threads, so that long work leaves some free.
    const tasks = `/proc/${second.child.pid}/task`
    // A thread may have ended after the list was read.
    const nameOf = (id: string) => readFile(`${tasks}/${id}/comm`, 'utf8').catch(() => '')
    const names = await Promise.all((await readdir(tasks)).map(nameOf))
    expect(names.filter((name) => name.trim() === 'libuv-worker')).toHaveLength(8)

    expect(await second.stop()).toBe(0)
    const loaded = (await readFile(packages, 'utf8')).split('\n')
    expect(loaded).toEqual(expect.arrayContaining(['fastify', '@mikro-orm/core', 'zod', 'node:path']))
    // Packages of login sources, stores, collectors, tool servers, providers, pictures, files, link previews and texts.
    const unused = [
      'ldapts',
      'openid-client',
      '@node-rs/argon2',
      'ioredis',
      'rate-limiter-flexible',
      '@aws-sdk/client-s3',
      // Nothing beyond the API package, which the metrics library loads.
      ...loaded.filter((name) => /^@opentelemetry\/(?!api$)/.test(name)),
    ]
    const untilUsed = [
      '@ai-sdk/mcp',
      '@ai-sdk/openai',
      '@ai-sdk/anthropic',
      'sharp',
      'undici',
      'yauzl',
      'file-type',
      'htmlparser2',
      'markdown-it',
      'ajv',
    ]
    // An import of it, unlike a require, loads Node's whole `fetch`.
    const heavy = ['node:http', 'node:https']
    expect(loaded.filter((name) => [...unused, ...untilUsed, ...heavy].includes(name))).toEqual([])
  })

  test('the first start creates the user demo if there is no person yet', async () => {
    await using database = await cloneDatabase()
    await using folder = await createDataFolder()
    await using config = await writeConfig('http://127.0.0.1:9')
    const models = [
      { id: 'vectors', modelType: 'embedding', external: true },
      { id: 'of-staff', groups: ['staff'], external: true },
      { id: 'of-all', external: true },
    ]
    const provider = { id: 'house', adapter: 'openai-compatible', apiUrl: 'http://127.0.0.1:9', models }
    await config.write({ providers: [provider], systemModels: {} })
    const settings = { DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0', AI_CONFIG: config.file }
    await using service = startProcess({ ...settings, BASE_URL: 'https://svc.localhost/' })
    await service.ready()

    // The demo user may ask neither of the models before it.
    expect(service.output.out).toContain('"model": "of-all"')
    expect(readTokens(service.output.out)).toHaveLength(1)
    // The line contains the public address if there is one.
    expect(service.output.out).toContain('Address   https://svc.localhost\n')
    expect(service.output.out).toContain('curl https://svc.localhost/api/ai-req ')
  })

  test('the first start in production prints the command that adds the first user', async () => {
    await using database = await createEmptyDatabase()
    await using folder = await createDataFolder()
    await using config = await writeConfig('http://127.0.0.1:9')
    const secrets = Object.keys(requiredInProduction).map((name) => [name, randomUUID()])
    const settings = {
      ...Object.fromEntries(secrets),
      NODE_ENV: 'production',
      DATABASE_URL: database.url,
      AI_CONFIG: config.file,
      DATA_DIR: folder.path,
      PORT: '0',
      DRAIN_DELAY: '0',
    }
    await using service = startProcess(settings)
    const url = await service.ready()

    expect(lastLine(service.output.out)).toMatchObject({ msg: 'ready', url, next: 'npm run svc -- add-user' })
    expect(await queryRows(database.url, 'select id from users')).toEqual([{ id: 1 }])
    expect(service.output.out).toContain('Nobody can sign in, because AUTHENTICATION_METHOD is not set')
  })

  test('a second service waits for a data folder in use, and can be stopped', async () => {
    await using folder = await createDataFolder()
    await using elsewhere = await createDataFolder()
    const settings = { DATA_DIR: folder.path, PORT: '0' }
    await using first = startProcess(settings)
    await using other = startProcess({ DATA_DIR: elsewhere.path, PORT: String(await findFreePort()) })
    const urls = await Promise.all([first.ready(), other.ready()])
    const [mine = '', theirs = ''] = [first, other].flatMap(({ output }) => readTokens(output.out))
    expect(new Set(urls).size).toBe(2)
    expect((await fetchAnswer(urls[0], mine)).status).toBe(200)
    expect((await fetchAnswer(urls[1], theirs)).status).toBe(200)
    expect((await fetchAnswer(urls[0], theirs)).status).toBe(401)

    await using second = startProcess(settings)
    await using third = startProcess(settings)
    for (const { output } of [second, third]) {
      await vi.waitFor(() => expect(output.out).toContain('Waiting until it ends'), SLOW)
      expect(output.out).toContain(`Another process holds the data folder ${folder.path}`)
    }

    expect(await second.stop()).toBe(1)
    expect(second.output.err).toBe(`The start was stopped while another process held the data folder ${folder.path}.\n`)
    expect(await folder.postgres()).toBeDefined()

    await first.stop()
    await third.ready()
  })

  test('with PORT 0 front ends learn the port that was assigned', async () => {
    await using svc = await startApp({ PORT: '0' })

    const answer = await svc.send('GET', '/api/svc/v1/configs/transfer')

    expect(await answer.json()).toMatchObject({ data: { attributes: { values: { baseUrl: svc.url } } } })
  })

  test('SVC_AVATAR is applied at the next start if the first could not read it', async () => {
    await using database = await createEmptyDatabase()
    await using folder = await createDataFolder()
    const picture = join(folder.path, 'svc.png')
    await writeFile(picture, 'no picture')
    const settings = { DATABASE_URL: database.url, SVC_AVATAR: picture }
    await expect(startApp(settings)).rejects.toThrow('SVC_AVATAR')
    await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } }).toFile(picture)

    await using _ = await startApp(settings)

    expect(
      await queryRows(database.url, 'select 1 as one from users where id = 1 and avatar is not null'),
    ).toHaveLength(1)
  })

  test('two replicas that start concurrently share one schema and one demo user', async () => {
    await using database = await createEmptyDatabase()
    await using folder = await createDataFolder()
    const settings = { DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0' }
    await using one = startProcess(settings)
    await using two = startProcess(settings)
    const urls = await Promise.all([one.ready(), two.ready()])
    const tokens = [one, two].flatMap(({ output }) => readTokens(output.out))

    expect(tokens).toHaveLength(1)
    for (const url of urls) expect((await fetchAnswer(url, tokens[0] ?? '')).status).toBe(200)
    expect(await queryRows(database.url, 'select id, username from users order by id')).toEqual([
      { id: 1, username: 'svc' },
      { id: 2, username: 'demo' },
    ])
    const applied = await queryRows<{ name: string }>(database.url, 'select name from mikro_orm_migrations')
    expect(new Set(applied.map(({ name }) => name)).size).toBe(applied.length)
    expect(await queryRows(database.url, `select count(*)::int as models from ai_models`)).toEqual([{ models: 1 }])
  })
})
