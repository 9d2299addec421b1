import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import sharp from 'sharp'
import { describe, expect, test, vi } from 'vitest'
import { required } from '../../server/config/settings.ts'
import { emptyDatabase } from '../kit/database.ts'
import { freePort } from '../kit/free-port.ts'
import { answers, beginStream, chunk, completion, configFor, json, question, startProvider } from '../kit/provider.ts'
import { dataFolder, startProcess } from '../kit/service-process.ts'

vi.setConfig({ testTimeout: 180_000 })

const run = promisify(execFile)
const SLOW = { timeout: 30_000, interval: 20 }

const tokensIn = (text: string) => [...text.matchAll(/^ {4}(svc_\S+)$/gm)].map(([, token]) => token ?? '')

/** Asks as a script does; a refused connection is the status 0. */
async function ask(url: string, token: string, model = 'demo') {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
  const body = JSON.stringify(question('Hello', model))
  const response = await fetch(`${url}/api/ai-req`, { method: 'POST', headers, body }).catch(() => undefined)
  return { status: response?.status ?? 0, body: await response?.json().catch(() => undefined) }
}

async function rows<Row>(url: string, sql: string): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
    .query(sql)
    .then(({ rows }) => rows as Row[])
    .finally(() => client.end())
}

describe('the first start', () => {
  test('needs no settings, and ends with a request that works as it stands; the second start shows no token', async () => {
    await using folder = await dataFolder()
    const first = startProcess({ DATA_DIR: folder.path, PORT: String(await freePort()) })
    await using _ = first
    await first.ready()

    const [command = ''] = first.said.out.match(/curl .*?\}\]\}\}'/s) ?? []
    expect(first.said.out.trimEnd().endsWith(command)).toBe(true)
    const { stdout } = await run('sh', ['-c', `${command} --silent`])

    expect(JSON.parse(stdout)).toEqual({ success: true, content: { text: expect.stringContaining('not an AI') } })
    expect(tokensIn(first.said.out)).toHaveLength(1)
    expect(first.said.err).toBe('')
    expect(await first.stop()).toBe(0)
    expect(await folder.postgres()).toBeUndefined()

    await using second = startProcess({ DATA_DIR: folder.path, PORT: '0' })
    const url = await second.ready()

    expect(second.said.out).not.toContain('svc_')
    expect(second.said.out.trimEnd().split('\n').slice(-2)).toEqual([`Listening on ${url}`, 'Next: npx svc token'])
    expect((await ask(url, tokensIn(first.said.out)[0] ?? '')).status).toBe(200)
  })

  test('makes the user demo as long as there is nobody, also where a command made the database', async () => {
    await using database = await emptyDatabase()
    await using folder = await dataFolder()
    const settings = { DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0' }
    await using command = startProcess(settings, [process.execPath, 'cli/svc.ts', 'migrate'])
    expect(await command.ended).toBe(0)

    await using service = startProcess(settings)
    await service.ready()

    expect(tokensIn(service.said.out)).toHaveLength(1)
  })

  test('says in production which command adds the first user, and makes none itself', async () => {
    await using database = await emptyDatabase()
    await using folder = await dataFolder()
    await using config = await configFor('http://127.0.0.1:9')
    const secrets = Object.keys(required).map((name) => [name, randomUUID()])
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

    expect(service.said.out.trimEnd().split('\n').slice(-2)).toEqual([`Listening on ${url}`, 'Next: npx svc add-user'])
    expect(await rows(database.url, 'select id from users')).toEqual([{ id: 1 }])
    expect(service.said.out).toContain('Nobody can sign in, because AUTHENTICATION_METHOD is not set')
  })

  test('says at once that it waits for another process to let go of the data folder', async () => {
    await using folder = await dataFolder()
    await using first = startProcess({ DATA_DIR: folder.path, PORT: '0' })
    await first.ready()
    await using second = startProcess({ DATA_DIR: folder.path, PORT: '0' })

    await vi.waitFor(
      () => expect(second.said.out).toContain(`Another process holds the data folder ${folder.path}`),
      SLOW,
    )
    await first.stop()

    await second.ready()
  })

  test('that waits for the data folder can be stopped', async () => {
    await using folder = await dataFolder()
    await using first = startProcess({ DATA_DIR: folder.path, PORT: '0' })
    await first.ready()
    await using second = startProcess({ DATA_DIR: folder.path, PORT: '0' })
    await vi.waitFor(() => expect(second.said.out).toContain('Waiting until it ends'), SLOW)

    expect(await second.stop()).toBe(1)

    expect(second.said.err).toBe(`Stopped while another process held the data folder ${folder.path}.\n`)
    expect(await folder.postgres()).toBeDefined()
  })

  test('tells front ends the port that was free, where PORT is 0', async () => {
    await using database = await emptyDatabase()
    await using folder = await dataFolder()
    await using service = startProcess({ DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0' })
    const url = await service.ready()

    const answer = await fetch(`${url}/api/svc/v1/configs/transfer`)

    expect(await answer.json()).toMatchObject({ data: { attributes: { values: { baseUrl: url } } } })
  })

  test('takes SVC_AVATAR at the next start where the first could not read it', async () => {
    await using database = await emptyDatabase()
    await using folder = await dataFolder()
    const picture = join(folder.path, 'svc.png')
    await writeFile(picture, 'no picture')
    const settings = { DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0', SVC_AVATAR: picture }
    await using command = startProcess({ ...settings, SVC_AVATAR: undefined }, [
      process.execPath,
      'cli/svc.ts',
      'migrate',
    ])
    await command.ended
    await using refused = startProcess(settings)
    expect(await refused.ended).toBe(1)
    await sharp({ create: { width: 8, height: 8, channels: 3, background: 'red' } }).toFile(picture)

    await using service = startProcess(settings)
    await service.ready()

    expect(await rows(database.url, 'select 1 as one from users where id = 1 and avatar is not null')).toHaveLength(1)
  })

  test('has a thread pool of eight, so that what keeps some of them for long leaves others free', async () => {
    await using folder = await dataFolder()
    await using service = startProcess({ DATA_DIR: folder.path, PORT: '0' })
    await service.ready()
    const tasks = `/proc/${service.child.pid}/task`

    const names = await Promise.all((await readdir(tasks)).map((id) => readFile(`${tasks}/${id}/comm`, 'utf8')))

    expect(names.filter((name) => name.trim() === 'libuv-worker')).toHaveLength(8)
  })

  test('two services run on one machine with a port and a folder each', async () => {
    await using folders = {
      one: await dataFolder(),
      two: await dataFolder(),
      async [Symbol.asyncDispose]() {
        await this.one[Symbol.asyncDispose]()
        await this.two[Symbol.asyncDispose]()
      },
    }
    await using one = startProcess({ DATA_DIR: folders.one.path, PORT: String(await freePort()) })
    await using two = startProcess({ DATA_DIR: folders.two.path, PORT: String(await freePort()) })
    const urls = await Promise.all([one.ready(), two.ready()])
    const [mine = '', theirs = ''] = [one, two].flatMap(({ said }) => tokensIn(said.out))

    expect(new Set(urls).size).toBe(2)
    expect((await ask(urls[0], mine)).status).toBe(200)
    expect((await ask(urls[1], theirs)).status).toBe(200)
    expect((await ask(urls[0], theirs)).status).toBe(401)
  })

  test('two replicas that start at once on an empty database share one schema, one AI user and one demo user', async () => {
    await using database = await emptyDatabase()
    await using folder = await dataFolder()
    const settings = { DATABASE_URL: database.url, DATA_DIR: folder.path, PORT: '0' }
    await using one = startProcess(settings)
    await using two = startProcess(settings)
    const urls = await Promise.all([one.ready(), two.ready()])
    const tokens = [one, two].flatMap(({ said }) => tokensIn(said.out))

    expect(tokens).toHaveLength(1)
    for (const url of urls) expect((await ask(url, tokens[0] ?? '')).status).toBe(200)
    expect(await rows(database.url, 'select id, username from users order by id')).toEqual([
      { id: 1, username: 'svc' },
      { id: 2, username: 'demo' },
    ])
    const applied = await rows<{ name: string }>(database.url, 'select name from mikro_orm_migrations')
    expect(new Set(applied.map(({ name }) => name)).size).toBe(applied.length)
    expect(await rows(database.url, `select count(*)::int as models from ai_models`)).toEqual([{ models: 1 }])
  })

  test('tells the public address where there is one', async () => {
    await using database = await emptyDatabase()
    await using folder = await dataFolder()
    const settings = {
      DATABASE_URL: database.url,
      DATA_DIR: folder.path,
      PORT: '0',
      BASE_URL: 'https://svc.example.org/',
    }
    await using service = startProcess(settings)
    await service.ready()

    expect(service.said.out).toContain('Listening on https://svc.example.org\n')
    expect(service.said.out).toContain('curl https://svc.example.org/api/ai-req ')
  })
})

describe('a start that is refused', () => {
  /** Runs until it ends, which it does by itself. */
  async function refused(settings: Record<string, string | undefined>) {
    await using folder = await dataFolder()
    const path = join(folder.path, 'data')
    await using service = startProcess({ DATA_DIR: path, PORT: '0', ...settings })
    const code = await service.ended
    return { code, ...service.said, made: existsSync(path) ? await readdir(path) : [] }
  }

  async function temporaryFile(name: string, text: string) {
    const folder = await mkdtemp(join(tmpdir(), 'svc-file-'))
    const path = join(folder, name)
    await writeFile(path, text)
    return { path, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
  }

  test('production without its own things: all of them are listed, and nothing is made', async () => {
    const { code, err, out, made } = await refused({ NODE_ENV: 'production' })

    expect(code).toBe(1)
    expect(out).toBe('')
    for (const name of ['DATABASE_URL', 'APP_KEY', 'AI_CONFIG']) expect(err).toContain(`  ${name}: production`)
    expect(err).not.toMatch(/^\s+at .*:\d+:\d+/m)
    expect(made).toEqual([])
  })

  test.for(['changeme-changeme-changeme-changeme', 'x'.repeat(40), 'short'])(
    'the placeholder %s as a key',
    async (APP_KEY) => {
      const { code, err } = await refused({ NODE_ENV: 'production', APP_KEY })

      expect(code).toBe(1)
      expect(err).toContain('  APP_KEY: ')
      expect(err).not.toContain(APP_KEY)
    },
  )

  test('production with a demo model in its configuration, beside all other problems', async () => {
    await using config = await temporaryFile(
      'ai.yaml',
      'providers:\n  - id: a\n    adapter: demo\n    models: [{id: m}]\n',
    )

    const { code, err, made } = await refused({ NODE_ENV: 'production', AI_CONFIG: config.path })

    expect(code).toBe(1)
    expect(err).toContain('  DATABASE_URL: production')
    expect(err).toMatch(/line 3, providers\.0\.adapter: .*demo model/)
    expect(made).toEqual([])
  })

  test.for([
    { setting: 'PORT', value: 'eighty' },
    { setting: 'DATABASE_URL', value: 'mysql://127.0.0.1/svc' },
    { setting: 'SHUTDOWN_TIMEOUT', value: 'soon' },
    { setting: 'LOG_LEVEL', value: 'loud' },
    { setting: 'EXTENSIONS', value: './no-such-module.ts' },
    { setting: 'AI_CONFIG', value: './no-such-file.yaml', names: 'no-such-file.yaml' },
    { setting: 'SVC_AVATAR', value: './no-such-image.png' },
    { setting: 'SVC_AVATAR', value: './package.json' },
    { setting: 'LABELS_DIR', value: './no-such-folder' },
    { setting: 'FRONTEND_MIGRATIONS', value: './no-such-folder' },
    { setting: 'LDAP_CA_FILE', value: './package.json' },
    { setting: 'ACCOUNTS_FILE', value: './package.json' },
    { setting: 'TRUSTED_PROXIES', value: 'abc' },
  ])('$setting=$value', async ({ setting, value, names = setting }) => {
    const { code, err, made } = await refused({ [setting]: value, HEALTH_DEEP_EVERY: '0' })

    expect(code).toBe(1)
    expect(err).toContain(names)
    expect(err).toContain('HEALTH_DEEP_EVERY')
    expect(made).toEqual([])
  })

  test.for([
    { what: 'throws', text: 'throw new Error("out of order")', says: /out of order/ },
    { what: 'is not a module', text: 'export const extension = {', says: /could not be loaded/ },
    { what: 'exports nothing', text: 'export const other = 1', says: /exports no extension/ },
  ])('an extension that $what is named', async ({ text, says }) => {
    await using module = await temporaryFile('extension.mjs', text)

    const { code, err } = await refused({ EXTENSIONS: module.path })

    expect(code).toBe(1)
    expect(err).toMatch(says)
    expect(err).toContain(module.path)
  })

  test('a port that is taken: one line, and no database is made', async () => {
    await using folder = await dataFolder()
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    await using service = startProcess({ DATA_DIR: folder.path, PORT: String(port) })

    expect(await service.ended).toBe(1)
    expect(service.said.err.trim()).toBe(`Port ${port} of 127.0.0.1 is taken. Set PORT to another.`)
    expect(await readdir(folder.path)).toEqual([])
    other.close()
  })

  test('a .env with misspelt names: they are told with all else that is wrong, and what others read is left alone', async () => {
    await using folder = await temporaryFile(
      '.env',
      'BASEURL=https://svc.example.org\nPOSTGRES_PASSWORD=x\nPROT=1\nLOG_LEVEL=loud\n',
    )
    const cwd = dirname(folder.path)
    await using service = startProcess({ PORT: 'eighty', TRUSTED_PROXY: 'x' }, undefined, cwd)

    expect(await service.ended).toBe(1)
    expect(service.said.err.trimEnd().split('\n')).toEqual([
      'The settings are not valid.',
      '  BASEURL in .env is no setting. Did you mean BASE_URL?',
      '  PROT in .env is no setting. Did you mean PORT?',
      '  PORT=eighty: must be a number',
      '  LOG_LEVEL=loud: must be one of trace, debug, info, warn, error, fatal, silent',
    ])
    expect(await readdir(cwd)).toEqual(['.env'])
  })

  test('a .env that cannot be read, with all else that is wrong', async () => {
    await using folder = await dataFolder()
    await mkdir(join(folder.path, '.env'))
    await using service = startProcess({ PORT: 'eighty' }, undefined, folder.path)

    expect(await service.ended).toBe(1)
    expect(service.said.err).toMatch(
      /^ {2}The file \.env cannot be read: EISDIR.*\n {2}PORT=eighty: must be a number$/m,
    )
  })

  test('an address of another machine: HOST is named', async () => {
    const { err, made } = await refused({ HOST: '192.0.2.1' })

    expect(err).toContain('Set HOST to one')
    expect(made).toEqual([])
  })

  test('a database that is not there', async () => {
    const { code, err } = await refused({ DATABASE_URL: `postgresql://svc:CANARY@127.0.0.1:${await freePort()}/svc` })

    expect(code).toBe(1)
    expect(err).toMatch(/^DATABASE_URL: the database svc at 127\.0\.0\.1:\d+ cannot be used: .*ECONNREFUSED/)
    expect(err).not.toContain('CANARY')
  })

  test('a database that does not know the password', async () => {
    await using database = await emptyDatabase()
    const url = new URL(database.url)
    url.password = 'CANARY'

    const { code, err } = await refused({ DATABASE_URL: url.href })

    expect(code).toBe(1)
    expect(err).toMatch(/^DATABASE_URL: the database \w+ at .* cannot be used: password authentication failed/)
    expect(err).not.toContain('CANARY')
  })
})

describe('a stop', () => {
  /** A service with a request under way, whose provider waits for `release`. */
  async function busy(settings: Record<string, string> = {}) {
    await using stack = new AsyncDisposableStack()
    const { promise: released, resolve: release } = Promise.withResolvers<void>()
    const provider = stack.use(
      await startProvider(async (_, response) => {
        await released
        if (!response.destroyed) json(response, completion('Good day.'))
      }),
    )
    stack.defer(() => release())
    const config = stack.use(await configFor(provider.url))
    const folder = stack.use(await dataFolder())
    const service = stack.use(startProcess({ DATA_DIR: folder.path, PORT: '0', AI_CONFIG: config.file, ...settings }))
    const url = await service.ready()
    const [token = ''] = tokensIn(service.said.out)
    const asked = ask(url, token, 'mock-1')
    await vi.waitFor(() => expect(provider.asked).toHaveLength(1), SLOW)
    const parts = stack.move()
    return { service, folder, provider, release, url, token, asked, [Symbol.asyncDispose]: () => parts.disposeAsync() }
  }

  const readiness = (url: string) =>
    fetch(`${url}/health/ready`).then(async (response) => [response.status, await response.json()] as const)

  test.for(['SIGTERM', 'SIGINT'] as const)(
    'by %s finishes what is under way, takes nothing new, and ends with 0',
    async (signal) => {
      await using svc = await busy()
      expect(await readiness(svc.url)).toEqual([200, { status: 'ready' }])

      svc.service.kill(signal)
      await vi.waitFor(async () => expect(await readiness(svc.url)).toEqual([503, { status: 'draining' }]), SLOW)
      // A connection that was idle may end just when it is used again.
      const late = await vi.waitFor(async () => {
        const refused = await ask(svc.url, svc.token, 'mock-1')
        expect(refused.status).toBe(503)
        return refused
      }, SLOW)
      svc.service.kill(signal)
      svc.service.kill('SIGTERM')
      svc.release()

      expect(late.body).toMatchObject({ success: false, code: 'unavailable' })
      expect(await svc.asked).toEqual({ status: 200, body: { success: true, content: { text: 'Good day.' } } })
      expect(await svc.service.ended).toBe(0)
      expect(svc.service.said.err).toBe('')
      expect(await svc.folder.postgres()).toBeUndefined()
    },
  )

  test('serves for DRAIN_DELAY what still comes, each answer the last of its connection, then closes what is idle', async () => {
    await using svc = await busy({ DRAIN_DELAY: '3s' })
    const idle = connect(Number(new URL(svc.url).port), '127.0.0.1')
    const idleEnded = once(idle, 'end')
    idle.write('GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n')
    const [before] = await once(idle, 'data')

    svc.service.kill('SIGTERM')
    await vi.waitFor(async () => expect((await readiness(svc.url))[0]).toBe(503), SLOW)
    const during = [await fetch(`${svc.url}/health/live`), await fetch(`${svc.url}/login`)]
    const served = ask(svc.url, svc.token, 'mock-1')
    await vi.waitFor(() => expect(svc.provider.asked).toHaveLength(2), SLOW)
    idle.resume()
    await idleEnded
    await vi.waitFor(async () => expect((await ask(svc.url, svc.token, 'mock-1')).status).toBe(503), SLOW)
    svc.release()

    expect(String(before)).toMatch(/^connection: keep-alive/im)
    expect(during.map(({ status, headers }) => [status, headers.get('connection')])).toEqual([
      [200, 'close'],
      [200, 'close'],
    ])
    expect([(await served).status, (await svc.asked).status]).toEqual([200, 200])
    expect(await svc.service.ended).toBe(0)
  })

  test('refuses new work on every surface with 503, in the shape that its clients know', async () => {
    await using svc = await busy()
    svc.service.kill('SIGTERM')
    await vi.waitFor(async () => expect((await readiness(svc.url))[0]).toBe(503), SLOW)
    const paths = [
      '/api/user',
      '/req/profile/sessions',
      '/nothing',
      '/trpc/users.me',
      '/api/svc/v1/users',
      '/api/svc/v1/no',
    ]

    const refused = await Promise.all(paths.map((path) => fetch(svc.url + path)))
    const bodies = await Promise.all(refused.map((answer) => answer.json()))
    svc.release()

    const own = { success: false, requestId: expect.any(String) }
    expect(refused.map(({ status }) => status)).toEqual(paths.map(() => 503))
    expect(refused.map(({ headers }) => [headers.get('retry-after'), headers.get('connection')])).toEqual(
      paths.map(() => ['5', 'close']),
    )
    expect(bodies).toMatchObject([
      { ...own, code: 'unavailable' },
      { success: false },
      { ...own, code: 'unavailable' },
      { error: { data: { httpStatus: 503 } } },
      { errors: [{ status: '503', code: 'unavailable' }] },
      { errors: [{ status: '503', code: 'unavailable' }] },
    ])
  })

  test('by Ctrl-C, which every process of the terminal hears, still finishes with a database', async () => {
    await using svc = await busy()

    svc.service.interrupt()
    await vi.waitFor(async () => expect((await readiness(svc.url))[0]).toBe(503), SLOW)
    expect(await svc.folder.postgres()).toBeDefined()
    svc.release()

    expect((await svc.asked).status).toBe(200)
    expect(await svc.service.ended).toBe(0)
    expect(await svc.folder.postgres()).toBeUndefined()
  })

  test('cuts what takes longer than SHUTDOWN_TIMEOUT, ends with 0, and keeps the record of it', async () => {
    await using database = await emptyDatabase()
    await using svc = await busy({ SHUTDOWN_TIMEOUT: '500ms', DATABASE_URL: database.url })

    svc.service.kill('SIGTERM')

    expect(await svc.service.ended).toBe(0)
    expect((await svc.asked).status).toBe(0)
    expect(await rows(database.url, 'select outcome from usage_records')).toEqual([{ outcome: 'aborted' }])
  })

  test('cuts a stream, too', async () => {
    await using database = await emptyDatabase()
    await using folder = await dataFolder()
    await using provider = await startProvider((_, response) => {
      beginStream(response)
      response.write(chunk({ delta: { content: 'Good ' } }))
    })
    await using config = await configFor(provider.url)
    const settings = { DATA_DIR: folder.path, DATABASE_URL: database.url, PORT: '0', SHUTDOWN_TIMEOUT: '500ms' }
    await using service = startProcess({ ...settings, AI_CONFIG: config.file })
    const url = await service.ready()
    const headers = {
      authorization: `Bearer ${tokensIn(service.said.out)[0]}`,
      'content-type': 'application/json',
      accept: 'text/event-stream',
    }
    const stream = await fetch(`${url}/api/ai-req`, { method: 'POST', headers, body: JSON.stringify(question()) })
    const text = stream.text().catch(() => 'cut')

    expect(await service.stop()).toBe(0)
    expect(await text).not.toContain('event: done')
    expect(await rows(database.url, 'select outcome from usage_records')).toEqual([{ outcome: 'aborted' }])
  })

  test('is not held up by a database that does not let go', async () => {
    await using database = await emptyDatabase()
    await using folder = await dataFolder()
    const settings = { DATA_DIR: folder.path, DATABASE_URL: database.url, PORT: '0', SHUTDOWN_TIMEOUT: '200ms' }
    await using service = startProcess(settings)
    const url = await service.ready()
    const locker = new pg.Client({ connectionString: database.url })
    await locker.connect()
    await locker.query('begin; lock table users, access_tokens, usage_records in access exclusive mode')

    const asked = ask(url, tokensIn(service.said.out)[0] ?? '')
    await vi.waitFor(async () => {
      const waiting = await rows(database.url, `select 1 from pg_stat_activity where wait_event_type = 'Lock'`)
      expect(waiting.length).toBeGreaterThan(0)
    }, SLOW)

    expect(await service.stop()).toBe(0)
    expect((await asked).status).toBe(0)
    await locker.end()
  })

  test('that comes during the start lets it finish, and leaves nothing behind', async () => {
    await using folder = await dataFolder()
    await using service = startProcess({ DATA_DIR: folder.path, PORT: '0' })
    await vi.waitFor(async () => expect(await folder.postgres()).toBeDefined(), SLOW)

    expect(await service.stop()).toBe(0)
    expect(await folder.postgres()).toBeUndefined()
  })

  test('of `npm start` reaches the service', async () => {
    await using folder = await dataFolder()
    await using npm = startProcess({ DATA_DIR: folder.path, PORT: '0' }, ['npm', 'start'])
    const url = await npm.ready()

    await npm.stop()

    await vi.waitFor(async () => expect(await folder.postgres()).toBeUndefined(), SLOW)
    expect((await ask(url, 'x')).status).toBe(0)
    expect(npm.said.out).toContain('"msg":"stopping"')
  })

  test('by SIGKILL is recovered from: the next start has all that was answered', async () => {
    await using folder = await dataFolder()
    await using provider = await startProvider(answers('Good day.'))
    await using config = await configFor(provider.url)
    const settings = { DATA_DIR: folder.path, PORT: '0', AI_CONFIG: config.file }
    await using killed = startProcess(settings)
    const before = await killed.ready()
    const [token = ''] = tokensIn(killed.said.out)
    expect((await ask(before, token, 'mock-1')).status).toBe(200)
    const orphan = await folder.postgres()
    killed.kill('SIGKILL')
    await killed.ended
    expect(await folder.postgres()).toBe(orphan)

    await using service = startProcess(settings)
    const url = await service.ready()

    expect((await ask(url, token, 'mock-1')).status).toBe(200)
    expect(await folder.postgres()).not.toBe(orphan)
    expect(await service.stop()).toBe(0)
    expect(await folder.postgres()).toBeUndefined()
  })

  test('of machine and database at once is recovered from, too', async () => {
    await using folder = await dataFolder()
    const settings = { DATA_DIR: folder.path, PORT: '0' }
    await using killed = startProcess(settings)
    await killed.ready()
    const [token = ''] = tokensIn(killed.said.out)
    const postgres = (await folder.postgres()) ?? 0
    killed.kill('SIGKILL')
    process.kill(postgres, 'SIGKILL')
    await killed.ended

    await using service = startProcess(settings)

    expect((await ask(await service.ready(), token)).status).toBe(200)
  })
})
