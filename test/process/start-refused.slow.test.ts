import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createEmptyDatabase } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'

describe('a start that is refused', () => {
  /** Runs the service until it exits by itself. */
  async function refused(settings: Record<string, string | undefined>) {
    await using folder = await createDataFolder()
    const path = join(folder.path, 'data')
    await using service = startProcess({ DATA_DIR: path, PORT: '0', ...settings })
    const code = await service.ended
    return { code, ...service.output, made: existsSync(path) ? await readdir(path) : [] }
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

  test.for(['/proc/svc', '/proc/svc/data', '/proc', '/dev/null'])(
    'a data folder %s, which cannot be made, is named with its setting',
    async (path) => {
      const { code, err } = await refused({ DATA_DIR: path })

      expect(code).toBe(1)
      expect(err).toMatch(new RegExp(`^DATA_DIR: the folder ${path}\\S* cannot be made .*\\n$`))
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

  test('wrong settings: each of them is named, and nothing is made', async () => {
    const settings = {
      PORT: 'eighty',
      DATABASE_URL: 'mysql://127.0.0.1/svc',
      SHUTDOWN_TIMEOUT: 'soon',
      LOG_LEVEL: 'loud',
      EXTENSIONS: './no-such-module.ts',
      SVC_AVATAR: './no-such-image.png',
      LABELS_DIR: './no-such-folder',
      FRONTEND_MIGRATIONS: './no-such-folder',
      LDAP_CA_FILE: './package.json',
      ACCOUNTS_FILE: './package.json',
      TRUSTED_PROXIES: 'abc',
      HEALTH_DEEP_EVERY: '0',
    }

    const { code, err, made } = await refused({ ...settings, AI_CONFIG: './no-such-file.yaml' })

    expect(code).toBe(1)
    for (const name of Object.keys(settings)) expect(err).toMatch(new RegExp(`^ *${name}[=:]`, 'm'))
    expect(err).toContain('no-such-file.yaml')
    expect(made).toEqual([])
  })

  test('accounts of the file without the native part of what verifies their passwords', async () => {
    const { code, err, made } = await refused({
      AUTHENTICATION_METHOD: 'local',
      NAPI_RS_NATIVE_LIBRARY_PATH: '/no-such-file.node',
    })

    expect(code).toBe(1)
    expect(err).toMatch(/^AUTHENTICATION_METHOD: .*native/)
    expect(made).toEqual([])
  })

  test('an extension that throws is named', async () => {
    await using module = await temporaryFile('extension.mjs', 'throw new Error("out of order")')

    const { code, err } = await refused({ EXTENSIONS: module.path })

    expect(code).toBe(1)
    expect(err).toMatch(/out of order/)
    expect(err).toContain(module.path)
  })

  test('a port that is taken: one line, and no database is made', async () => {
    await using folder = await createDataFolder()
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as { port: number }
    await using service = startProcess({ DATA_DIR: folder.path, PORT: String(port) })

    expect(await service.ended).toBe(1)
    expect(service.output.err.trim()).toBe(`Port ${port} of 127.0.0.1 is taken. Set PORT to another.`)
    expect(await readdir(folder.path)).toEqual([])
    other.close()
  })

  test('misspelt names in .env are reported together with all other problems', async () => {
    await using folder = await temporaryFile(
      '.env',
      'BASEURL=https://svc.example.org\nPOSTGRES_PASSWORD=x\nPROT=1\nLOG_LEVEL=loud\n',
    )
    const cwd = dirname(folder.path)
    await using service = startProcess({ PORT: 'eighty', TRUSTED_PROXY: 'x' }, undefined, cwd)

    expect(await service.ended).toBe(1)
    expect(service.output.err.trimEnd().split('\n')).toEqual([
      'The settings are not valid.',
      '  BASEURL in .env is no setting. Did you mean BASE_URL?',
      '  PROT in .env is no setting. Did you mean PORT?',
      '  PORT=eighty: must be a number',
      '  LOG_LEVEL=loud: must be one of trace, debug, info, warn, error, fatal, silent',
    ])
    expect(await readdir(cwd)).toEqual(['.env'])
  })

  test('a .env that cannot be read, with all else that is wrong', async () => {
    await using folder = await createDataFolder()
    await mkdir(join(folder.path, '.env'))
    await using service = startProcess({ PORT: 'eighty' }, undefined, folder.path)

    expect(await service.ended).toBe(1)
    expect(service.output.err).toMatch(
      /^ {2}The file \.env cannot be read: EISDIR.*\n {2}PORT=eighty: must be a number$/m,
    )
  })

  test('an address of another machine: HOST is named', async () => {
    const { err, made } = await refused({ HOST: '192.0.2.1' })

    expect(err).toContain('Set HOST to one')
    expect(made).toEqual([])
  })

  test('a database that is not there', async () => {
    const { code, err } = await refused({
      DATABASE_URL: `postgresql://svc:CANARY@127.0.0.1:${await findFreePort()}/svc`,
    })

    expect(code).toBe(1)
    expect(err).toMatch(/^DATABASE_URL: the database svc at 127\.0\.0\.1:\d+ cannot be used: .*ECONNREFUSED/)
    expect(err).not.toContain('CANARY')
  })

  test('a database that does not know the password', async () => {
    await using database = await createEmptyDatabase()
    const url = new URL(database.url)
    url.password = 'CANARY'

    const { code, err } = await refused({ DATABASE_URL: url.href })

    expect(code).toBe(1)
    expect(err).toMatch(/^DATABASE_URL: the database \w+ at .* cannot be used: password authentication failed/)
    expect(err).not.toContain('CANARY')
  })
})
