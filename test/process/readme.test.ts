import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parseEnv } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { modelConfig } from '../../routers/ports/ai/model-config.ts'
import { describeSettings } from '../../server/config/setting-table.ts'
import { required } from '../../server/config/settings.ts'
import { renew } from '../../server/readme.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))
const readme = await readFile(`${root}README.md`, 'utf8')
const { scripts } = JSON.parse(await readFile(`${root}package.json`, 'utf8')) as { scripts: Record<string, string> }

test('README.md begins with the two lines that matter', () => {
  const [first = ''] = readme.match(/```\w*\n(.*?)```/s)?.slice(1) ?? []

  expect(
    first
      .trim()
      .split('\n')
      .map((line) => line.replace(/\s*#.*/, '')),
  ).toEqual(['npm install && npm start', 'npm install && npm test'])
})

test('README.md is current: its made parts are what the code makes now', () => {
  expect(renew(readme) === readme, 'run `npm run readme`').toBe(true)
})

test('README.md has a row for every setting', () => {
  const missing = describeSettings().filter(({ name }) => !readme.includes(`| \`${name}\` |`))

  expect(missing).toEqual([])
})

test('README.md names only scripts and files that are there', () => {
  const named = [...readme.matchAll(/npm run ([\w:-]+)/g)].map(([, name]) => name ?? '')
  const paths = [...readme.matchAll(/`((?:cli|entities|facades|routers|server|test|\.ci)\/[\w./-]*)`/g)].map(
    ([, path]) => path ?? '',
  )

  expect(named.filter((name) => !scripts[name])).toEqual([])
  expect(paths.filter((path) => !existsSync(root + path))).toEqual([])
})

test('README.md gives an AI configuration that is valid', () => {
  const [, yaml = ''] = readme.match(/```yaml\n(providers:.*?)```/s) ?? []

  expect(modelConfig.safeParse(parse(yaml)).error?.issues).toBeUndefined()
})

test('README.md refuses a part that nobody makes', () => {
  expect(() => renew('<!-- generated:weather -->\n<!-- /generated -->')).toThrow(/weather/)
})

test('the scripts of package.json run in cmd.exe, too', () => {
  expect(Object.values(scripts).filter((script) => /(?:^|&& *)\w+=|\bexec\b|[$;'`]/.test(script))).toEqual([])
})

const dockerfile = await readFile(`${root}server/Dockerfile`, 'utf8')

test('the Dockerfile starts the service as `npm start` does', () => {
  const [, command = '[]'] = /^CMD (.*)$/m.exec(dockerfile) ?? []
  expect(JSON.parse(command).join(' ')).toBe(scripts['start'])
})

describe('compose.yaml', async () => {
  const { services } = parse(await readFile(`${root}compose.yaml`, 'utf8'))

  test('probes the service as the specification says', () => {
    const { test: probe, ...timing } = services.svc.healthcheck

    expect(timing).toEqual({ interval: '30s', timeout: '10s', retries: 3, start_period: '30s' })
    expect(probe.join(' ')).toContain('/health')
  })

  test('compose.yaml brings PostgreSQL 18 and a key-value store, which the service waits for', () => {
    expect(services.postgres.image).toMatch(/^postgres:18/)
    expect(services.valkey.image).toMatch(/^valkey\/valkey:/)
    expect(Object.keys(services.svc.depends_on).sort()).toEqual(['postgres', 'valkey'])
  })

  test('compose.yaml holds no secret of its own', () => {
    const { environment } = services.postgres

    expect(environment.POSTGRES_PASSWORD).toMatch(/^\$\{POSTGRES_PASSWORD:\?/)
    expect(services.svc.environment.DATABASE_URL).toContain('${POSTGRES_PASSWORD:?')
    expect(Object.keys(services.svc.environment).filter((name) => /KEY|SALT|SECRET/.test(name))).toEqual([])
  })
})

test('.env.example starts nothing as it is: it names every secret and gives none', async () => {
  const given = parseEnv(await readFile(`${root}.env.example`, 'utf8'))
  const wanted = Object.keys(required)

  expect(Object.keys(given)).toEqual(
    expect.arrayContaining(['POSTGRES_PASSWORD', ...wanted.filter((name) => /KEY|SALT/.test(name))]),
  )
  const known = describeSettings()
  for (const [name, value] of Object.entries(given)) {
    const setting = known.find((row) => row.name === name)
    if (!setting) expect(['POSTGRES_PASSWORD', 'VALKEY_PASSWORD']).toContain(name)
    if (!setting || setting.secret) expect(value, name).toBe('')
  }
})
