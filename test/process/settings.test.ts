import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { listCurrentSettings, readEnv } from '../../server/config/env.ts'
import { describeSettings, requiredInProduction } from '../../server/config/settings.ts'
import { readValidatedEnv } from '../../server/preflight.ts'

const key = 'q8Zt3vLr0XwYb5Nc7HdJf2KgMs9PaEuT4iVo6'
/** All settings that production requires. */
const production = {
  NODE_ENV: 'production',
  ...Object.fromEntries(Object.keys(requiredInProduction).map((name) => [name, key])),
  DATABASE_URL: 'postgresql://svc:pw@db.example.org/svc',
}

const placeholders = [
  'changeme',
  'changeme-changeme',
  'placeholder-placeholder',
  'xxxxxxxxxxxxxxxxxxxx',
  'xxxx-xxxx-xxxx-xxxx',
  'secret-secret-secret-secret-secret-secret',
  'your-key-here-your-key-here-your-key',
  'the app-key: replace-me before it is used',
  '<a key of 32 characters or more>',
  'example',
  'example-secret-key',
  'todo',
]

/** Builds the expected line about a setting, with or without its value. */
const namedBy = (name: string) => new RegExp(`^  ${name}[=:]`, 'm')

const complaints = (settings: Record<string, string>) => {
  try {
    readEnv(settings)
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

describe('settings', () => {
  test('settings are complete without any', () => {
    expect(readEnv({})).toMatchObject({ NODE_ENV: 'development', PORT: 3000, HOST: '127.0.0.1', DATA_DIR: '.data' })
  })

  test('settings that are empty count as absent', () => {
    expect(readEnv({ PORT: '', DATABASE_URL: '', HEALTH_DEEP_EVERY: '' })).toEqual({ ...readEnv({}), variables: {} })
  })

  test.for([
    ['on', true],
    ['1', true],
    ['TRUE', true],
    ['yes', true],
    ['off', false],
    ['0', false],
    ['False', false],
    ['no', false],
  ] as const)('a switch may say %s', ([value, means]) => {
    expect(readEnv({ ALLOW_USER_TOKEN_CREATION: value }).ALLOW_USER_TOKEN_CREATION).toBe(means)
  })

  test.for([
    ['500ms', 500],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1500', 1500],
  ] as const)('a duration may say %s', ([value, means]) => {
    expect(readEnv({ SHUTDOWN_TIMEOUT: value }).SHUTDOWN_TIMEOUT).toBe(means)
  })

  test('a list may hold blanks and empty places', () => {
    expect(readEnv({ EXTENSIONS: ' a.ts, ,b.ts,' }).EXTENSIONS).toEqual(['a.ts', 'b.ts'])
  })

  test('an address loses the slash at its end', () => {
    expect(readEnv({ BASE_URL: 'https://svc.localhost/' }).BASE_URL).toBe('https://svc.localhost')
  })

  test.for([
    ['PORT', '65536'],
    ['PORT', '-1'],
    ['PORT', '80.5'],
    ['BASE_URL', 'svc.example.org'],
    ['BASE_URL', 'ftp://svc.example.org'],
    ['DATABASE_URL', 'redis://127.0.0.1'],
    ['REDIS_URL', 'http://127.0.0.1'],
    ['DATABASE_POOL', '1'],
    ['ALLOW_EXTERNAL_COMMUNICATION', 'perhaps'],
    ['SHUTDOWN_TIMEOUT', '-5s'],
    ['SHUTDOWN_TIMEOUT', 'soon'],
    ['SHUTDOWN_TIMEOUT', '2147483648'],
    ['AI_HEARTBEAT', '25d'],
    ['LDAP_TIMEOUT', '30d'],
    ['SESSION_LIFETIME', '1y'],
    ['HEALTH_DEEP_EVERY', '0'],
    ['AI_MAX_BODY', 'big'],
    ['LOG_LEVEL', 'chatty'],
    ['NODE_ENV', 'staging'],
  ] as const)('%s=%s is refused by name', ([name, value]) => {
    expect(complaints({ [name]: value })).toMatch(namedBy(name))
  })

  test.for([
    [{ PORT: 'eighty' }, 'PORT=eighty: must be a number'],
    [{ PORT: '65536' }, 'PORT=65536: must be at most 65535'],
    [{ HEALTH_DEEP_EVERY: '0' }, 'HEALTH_DEEP_EVERY=0: must be at least 1'],
    [{ LOG_LEVEL: 'loud' }, 'LOG_LEVEL=loud: must be one of trace, debug, info, warn, error, fatal, silent'],
    [
      { BASE_URL: 'https://svc.example.org' },
      'BASE_URL=https://svc.example.org: development is for this machine alone: set NODE_ENV=production, or an address such as http://localhost:3000',
    ],
    [{ BASE_URL: 'svc.example.org' }, 'BASE_URL=svc.example.org: must begin with https:// or http://'],
    [{ AI_MAX_BODY_WITH_FILES: '100000000' }, 'AI_BYTES_PER_PERSON: must be at least AI_MAX_BODY_WITH_FILES'],
    [{ LDAP_ALLOW_PLAIN: 'perhaps' }, 'LDAP_ALLOW_PLAIN=perhaps: must be true or false'],
    [{ TRUSTED_PROXIES: 'abc' }, 'TRUSTED_PROXIES=abc: must be addresses or networks such as 10.0.0.5 or 10.0.0.0/24'],
    [{ DRAIN_DELAY: 'soon' }, 'DRAIN_DELAY=soon: must be a length of time such as 500ms, 30s or 5m'],
    [{ APP_KEY: 'CANARY' }, 'APP_KEY: must have at least 32 characters; `openssl rand -base64 48` makes a good one'],
    [
      { OTEL_EXPORTER_OTLP_HEADERS: 'CANARY' },
      'OTEL_EXPORTER_OTLP_HEADERS: must be headers such as authorization=Bearer%20secret',
    ],
    [{ OTEL_TRACES_SAMPLER_ARG: '2' }, 'OTEL_TRACES_SAMPLER_ARG=2: must be at most 1'],
    [
      { TRACEPARENT_HOSTS: 'a.example.org,https://b.example.org' },
      'TRACEPARENT_HOSTS=a.example.org,https://b.example.org: must be hosts such as models.example.org or 10.0.0.5:8000, and https://b.example.org is none',
    ],
    [{ DATABASE_URL: 'mysql://svc:CANARY@db/svc' }, 'DATABASE_URL: must begin with postgresql://'],
  ] as const)('a wrong setting is reported with its value unless it is secret: %j', ([given, says]) => {
    expect(complaints(given as Record<string, string>).split('\n')).toContain(`  ${says}`)
    expect(complaints(given as Record<string, string>)).not.toContain('CANARY')
  })

  test('settings that are wrong are listed at once', () => {
    const list = complaints({ PORT: 'x', LOG_LEVEL: 'y', NODE_ENV: 'production', APP_KEY: 'changeme' })

    const named = [...list.matchAll(/^ {2}(\w+)/gm)].map(([, name]) => name)
    expect(named).toEqual(expect.arrayContaining(['PORT', 'LOG_LEVEL', ...Object.keys(requiredInProduction)]))
  })
})

test('production starts with everything of its own', () => {
  expect(complaints(production)).toBe('')
})

test.for(Object.keys(requiredInProduction))('production insists on %s', (name) => {
  const { [name as keyof typeof production]: _, ...without } = production

  expect(complaints(without)).toMatch(namedBy(name))
})

const judged = describeSettings().filter(({ name, secret }) => secret && name !== 'APP_PREVIOUS_KEYS')
const ownKeys = ['APP_KEY', 'REVERB_APP_SECRET']

test.for(judged)('production takes no placeholder for $name', ({ name }) => {
  const given = placeholders.map((value) =>
    name.endsWith('_URL') ? `${production.DATABASE_URL}`.replace('pw', value) : value,
  )

  for (const value of given) {
    const list = complaints({ ...production, [name]: value })
    expect(list, value).toContain(`  ${name}: is a placeholder, not a secret`)
    expect(list.replaceAll('is a placeholder', '')).not.toContain(value)
    expect(complaints({ [name]: value })).not.toContain('placeholder')
  }
})

test.for(ownKeys)('production takes no %s that is not random', (name) => {
  for (const value of ['a'.repeat(64), '0123'.repeat(16), `secret-${key}`, `Example.org ${key}`])
    expect(complaints({ ...production, [name]: value }), value).toBe(
      `The settings are not valid.\n  ${name}: is a placeholder, not a secret`,
    )
})

test.for(judged.filter(({ name }) => !ownKeys.includes(name) && !/_(URL|HEADERS)$/.test(name)))(
  'production starts with a $name that an operator chose',
  ({ name }) => {
    const own = [
      'example.org-userdata-salt-5f2c91',
      'example-university-2024',
      'todo-app-5f2c91b7-salt',
      '0123'.repeat(8),
      'secret_8Kq2vNw4bR7tYx1mZc9LpD3f',
      'Password-of-ours-93!',
      'xxl-7Yt2mZc9LpD3f5Rq',
      'exchange-me-5f2c91b7',
    ]

    for (const value of own) expect(complaints({ ...production, [name]: value }), value).toBe('')
  },
)

test('production takes whatever the earlier keys are, so that a placeholder can be replaced', () => {
  for (const earlier of placeholders)
    expect(complaints({ ...production, APP_PREVIOUS_KEYS: `${earlier},example${key}` }), earlier).toBe('')
})

test('production looks into encoded addresses for placeholders', () => {
  const list = complaints({
    ...production,
    DATABASE_URL: 'postgresql://svc@db.example.org/svc?password=changeme',
    REDIS_URL: 'redis://:change%2Dme@kv.example.org',
  })

  for (const name of ['DATABASE_URL', 'REDIS_URL']) expect(list).toMatch(namedBy(name))
})

test.for(['secret_8Kq2vNw4bR7tYx1mZc9LpD3f', 'Password-of-ours-93!', '3f7c0a9be2d14c58', '482915', 'example.org-4f1'])(
  'production takes keys that others issued, such as %s',
  (LDAP_BIND_PW) => {
    expect(
      complaints({ ...production, LDAP_BIND_PW, REDIS_URL: `redis://:${LDAP_BIND_PW}@changeme.example.org` }),
    ).toBe('')
  },
)

test('production takes no demo model, wherever it stands in the file, and development does', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-settings-'))
  const file = join(folder, 'ai.json')
  const real = { id: 'a', adapter: 'openai', models: [{ id: 'm' }] }
  await writeFile(file, JSON.stringify({ providers: [real, { id: 'b', adapter: 'demo', active: false }] }, null, 1))

  await expect(readValidatedEnv({ ...production, AI_CONFIG: file })).rejects.toThrow(/providers\.1\.adapter/)
  await expect(readValidatedEnv({ AI_CONFIG: file })).resolves.toMatchObject({ AI_CONFIG: file })
  await rm(folder, { recursive: true })
})

test('a filter that LDAP cannot parse stops the start, even with balanced brackets', async () => {
  await expect(readValidatedEnv({ LDAP_FILTER: '((uid=username))' })).rejects.toThrow(/^LDAP_FILTER: /)
  await expect(readValidatedEnv({ LDAP_FILTER: '(uid=username)' })).resolves.toBeDefined()
})

test('a file that is no picture is told beside all else that is wrong', async () => {
  const starting = readValidatedEnv({
    SVC_AVATAR: './package.json',
    HEALTH_DEEP_EVERY: '0',
    AI_CONFIG: './no-such.yaml',
  })

  await expect(starting).rejects.toThrow(/ {2}HEALTH_DEEP_EVERY=0: .*no-such\.yaml.*^SVC_AVATAR: /ms)
})

describe('the table of settings', () => {
  test('the table of settings says of each a type and a meaning', () => {
    const kinds = /^(string|integer|number|boolean|list|duration|URL|\w+( \| \w+)+)$/

    for (const { name, type, meaning } of describeSettings()) {
      expect(type, name).toMatch(kinds)
      expect(meaning.length, name).toBeGreaterThan(10)
    }
  })

  test.for([
    ['PORT', 'integer', '3000'],
    ['LOG_LEVEL', 'trace | debug | info | warn | error | fatal | silent', 'info'],
    ['SHUTDOWN_TIMEOUT', 'duration', '30s'],
    ['ALLOW_EXTERNAL_COMMUNICATION', 'boolean', ''],
    ['EXTENSIONS', 'list', ''],
    ['DATABASE_URL', 'URL', ''],
  ] as const)('the table of settings has a row for %s', ([name, type, fallback]) => {
    expect(describeSettings().find((row) => row.name === name)).toMatchObject({ type, default: fallback })
  })

  test('the table of settings gives a default that the setting itself takes', () => {
    const defaults = describeSettings().filter((row) => row.default !== '')

    expect(complaints(Object.fromEntries(defaults.map((row) => [row.name, row.default])))).toBe('')
  })

  test('the table of settings begins with the ten that an installation must decide', () => {
    const must = describeSettings().filter(({ priority }) => priority === 'must')
    const priorities = new Set(describeSettings().map(({ priority }) => priority))

    expect(priorities).toEqual(new Set(['must', 'may', 'tuning']))
    expect(must.map(({ name }) => name).toSorted()).toEqual(
      [...Object.keys(requiredInProduction), 'BASE_URL', 'AUTHENTICATION_METHOD'].toSorted(),
    )
  })

  test('the table of settings hides what is secret', () => {
    const secret = describeSettings().filter((row) => row.secret)
    const now = listCurrentSettings(Object.fromEntries(secret.map(({ name }) => [name, 'CANARY'])))

    expect(JSON.stringify(now)).not.toContain('CANARY')
    const names = secret.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['DATABASE_URL', 'REDIS_URL', 'APP_KEY', 'APP_PREVIOUS_KEYS']))
    expect(
      describeSettings().filter(
        ({ name, secret }) => /_(KEY|KEYS|PW|SECRET|SALT)$/.test(name) && !secret && name !== 'REVERB_APP_KEY',
      ),
    ).toEqual([])
  })
})
