import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { createMetrics, sampleMetrics } from '../../server/ops/metrics.ts'
import { limited } from '../kit/ai/limited-service.ts'
import {
  answers,
  behavesInTurn,
  buildQuestion,
  refuses,
  stalls,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp, type TestApp, type TestUser } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'
import { createTemporaryFolder } from '../kit/health.ts'
import { root } from '../kit/service-process.ts'
import { shareResource } from '../kit/share-resource.ts'

let operator: TestUser
const svc = shareResource(() => startApp({ METRICS_PORT: '0' }))
beforeAll(async () => {
  operator = await svc.user({ role: 'admin', abilities: ['metrics', 'ai'] })
})

const read = async () => (await svc.send('GET', '/metrics', { token: operator.token })).text()

/** The value of a series, by its name with its labels. */
const readSeries = (text: string, series: RegExp) => Number(text.match(new RegExp(`^${series.source} (.*)$`, 'm'))?.[1])

describe('GET /metrics', () => {
  test('is open to a token of an administrator with the ability alone', async () => {
    const { token: usual } = await svc.user({ role: 'admin' })
    const { token: person } = await svc.user({ abilities: ['metrics'] })
    const status = async (token?: string) => (await svc.send('GET', '/metrics', { token })).status

    expect([await status(), await status(usual), await status(person), await status(operator.token)]).toEqual([
      401, 403, 403, 200,
    ])
  })

  test('answers as Prometheus reads it', async () => {
    const answer = await svc.send('GET', '/metrics', { token: operator.token })

    expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
    expect(await answer.text()).toMatch(/^# HELP svc_http_requests_total .*\n# TYPE svc_http_requests_total counter$/m)
  })

  test('counts requests by their surface, and calls by their model', async () => {
    const before = await read()
    const [{ model_id } = { model_id: '' }] = await svc.rows<{ model_id: string }>(
      'select model_id from ai_models limit 1',
    )
    const body = { ...buildQuestion('Hello', model_id) }
    expect((await svc.send('POST', '/api/ai-req', { token: operator.token, body })).status).toBe(200)
    const after = await read()

    const requests = /svc_http_requests_total\{surface="legacy",status="2xx"\}/
    expect(readSeries(after, requests) - (readSeries(before, requests) || 0)).toBe(1)
    expect(after).toMatch(/^svc_ai_calls_total\{model=".+",provider="demo",outcome="completed"\} 1$/m)
    expect(after).toMatch(/^svc_ai_tokens_total\{model=".+",type="output"\} [1-9]/m)
  })

  test('names nobody who called', async () => {
    const { id, username, token } = await svc.user({ username: 'canary-of-metrics' })
    await svc.send('GET', `/api/svc/v1/users/${id}`, { token })

    expect(await read()).not.toContain(username)
  })

  test('has a port of its own without a token where METRICS_PORT is set', async () => {
    const answer = await fetch(String(svc.metricsUrl))

    expect([answer.status, new URL(String(svc.metricsUrl)).hostname]).toEqual([200, '127.0.0.1'])
    expect(await answer.text()).toContain('svc_db_pool_connections')
    expect((await fetch(new URL('/other', svc.metricsUrl))).status).toBe(404)
  })
})

test('10,000 models, providers, limits and people make few series', async () => {
  const metrics = createMetrics()
  const tokens = { inputTokens: 1, outputTokens: 2, cachedTokens: 1, cacheWriteTokens: 1, reasoningTokens: 1 }
  for (let each = 0; each < 10_000; each++) {
    const call = {
      model: `model-${each}`,
      provider: `provider-${each}`,
      currency: `C${each}`,
      outcome: 'completed',
    } as const
    metrics.countCall({ ...call, ...tokens, durationMs: 2, firstPieceMs: 1, costMicros: 1, estimated: false })
    metrics.countRefusal(`limit-${each}`)
    metrics.setProviderState(`provider-${each}`, true)
    metrics.countRetry(`provider-${each}`)
  }
  const reserved = Array.from({ length: 10_000 }, (_, each) => ({ limit: `limit-${each}`, unit: 'EUR', amount: 1 }))
  metrics.setSample({ jobs: [], reserved, diskFree: 1, reservationAge: 0, backupAge: undefined })

  const text = await metrics.render()

  const values = (label: string) =>
    new Set([...text.matchAll(new RegExp(`\\b${label}="([^"]*)"`, 'g'))].map(([, value]) => value))
  expect([values('model').size, values('provider').size, values('limit').size, values('currency').size]).toEqual([
    201, 51, 51, 51,
  ])
  expect(text).toMatch(/^svc_limit_refusals_total\{limit="other"\} 9950$/m)
  expect(text).toMatch(/^svc_limit_reserved\{limit="other",unit="EUR"\} 9950$/m)
})

describe('what the database and the disk are asked for now and then', () => {
  const sample = (app: TestApp) =>
    app.periodicTasks.find(({ name }) => name === 'sample of metrics')?.run(AbortSignal.timeout(30_000))
  const render = (app: TestApp) => app.services.process.metrics.render()

  test('jobs by their state, free bytes, and what calls under way reserve of limits', async () => {
    const limits = [
      { name: 'calls', for: 'installation', cap: 10, unit: 'requests', per: 'month' },
      { name: 'money', for: 'installation', cap: 10, unit: 'EUR', per: 'month' },
    ]
    const pricing = { currency: 'EUR', inputPerMillion: 1, outputPerMillion: 1 }
    await using world = await limited(limits, { model: { pricing, limits: { maxOutputTokens: 1000 } } })
    const { svc: app, provider: upstream } = world
    const { token } = await app.user()
    await sample(app)
    const quiet = await render(app)
    expect(quiet).toMatch(/^svc_jobs\{queue="extract-text",state="waiting"\} 0$/m)
    expect(quiet).not.toContain('svc_limit_reserved{')
    expect(readSeries(quiet, /svc_disk_free_bytes/)).toBeGreaterThan(0)
    expect(readSeries(quiet, /svc_reservation_age_seconds/)).toBe(0)

    upstream.behave = stalls
    const gone = new AbortController()
    const pending = app
      .send('POST', '/api/ai-req', { token, body: buildQuestion(), signal: gone.signal })
      .catch(() => {})
    await expect.poll(() => upstream.requests.length).toBe(1)
    await app.rows(`update usage_holds set created_at = now() - interval '2 hours'`)
    await sample(app)
    const busy = await render(app)
    gone.abort()
    await pending

    expect(readSeries(busy, /svc_reservation_age_seconds/)).toBeGreaterThanOrEqual(7200)
    expect(busy).toMatch(/^svc_limit_reserved\{limit="calls",unit="requests"\} 1$/m)
    expect(readSeries(busy, /svc_limit_reserved\{limit="money",unit="EUR"\}/)).toBeCloseTo(0.001, 3)
  })

  test('the ages of backup and anchor are there from the first on', async () => {
    await using app = await startApp()
    await using folder = await createTemporaryFolder()
    await sample(app)
    const before = await render(app)
    const env = { DATABASE_URL: String(app.env.DATABASE_URL), DATA_DIR: app.folder }
    await runCommand(['backup', 'create', join(folder.path, 'backup')], { env })
    await app.rows(`insert into audit_entries (act, outcome, actor) values ('backups.create', 'conflict', 'host')`)
    await app.host.audit.upkeep()
    await sample(app)

    expect(before).not.toMatch(/^svc_backup_age_seconds/m)
    expect(readSeries(await render(app), /svc_audit_anchor_age_seconds/)).toBeGreaterThanOrEqual(0)
    expect(readSeries(await render(app), /svc_backup_age_seconds/)).toBeGreaterThanOrEqual(0)
  })

  const sampled = ['svc_jobs{', 'svc_limit_reserved{', 'svc_disk_free_bytes ', 'svc_reservation_age_seconds ']
  const listSampled = (text: string) => sampled.filter((name) => text.includes(`\n${name}`))

  test('a failed sample removes the former value, and none exists before the first', async () => {
    const metrics = createMetrics()
    expect(listSampled(await metrics.render())).toEqual([])
    const sql = () => Promise.reject(new Error('The database is away.'))
    const jobQueue = { count: async () => [{ queue: 'q', state: 'running' as const, count: 3 }] }
    await sampleMetrics({ metrics, jobQueue, sql: async () => [], folder: '.' })
    expect(await metrics.render()).toContain('svc_jobs{queue="q",state="running"} 3')

    await expect(sampleMetrics({ metrics, jobQueue, sql, folder: '.' })).rejects.toThrow('The database is away.')

    expect(listSampled(await metrics.render())).toEqual([])
  })
})

test('a request that a provider is sent again is counted', async () => {
  await using upstream = await startProvider(behavesInTurn(refuses(503), answers('Good day.')))
  await using config = await writeConfig(upstream.url)
  await using app = await startApp({ AI_CONFIG: config.file })
  const { token } = await app.user()

  expect((await app.send('POST', '/api/ai-req', { token, body: buildQuestion() })).status).toBe(200)

  expect(await app.services.process.metrics.render()).toMatch(/^svc_retries_total\{provider="local"\} 1$/m)
})

describe('the files for operators', () => {
  const file = (name: string) => readFile(join(root, 'server/ops', name), 'utf8')

  /** The metrics of a query with the labels that it names of each. */
  const metricsIn = (query: string) =>
    [...query.matchAll(/\b((?:svc|nodejs|process)_\w+)(?:\{([^}]*)\})?/g)].map(([, name = '', labels = '']) => ({
      name,
      labels: [...labels.matchAll(/(\w+)\s*(?:=|!=|=~|!~)\s*"/g)].map(([, label]) => label),
    }))

  /** The metrics of a service, with the labels of each. */
  async function given() {
    const metrics = createMetrics()
    const tokens = { inputTokens: 1, outputTokens: 2, cachedTokens: 1, cacheWriteTokens: 1, reasoningTokens: 1 }
    const call = { model: 'm', provider: 'p', currency: 'EUR', outcome: 'failed', estimated: false } as const
    metrics.countCall({ ...call, ...tokens, durationMs: 2, firstPieceMs: 1, costMicros: 1 })
    metrics.countRequest({ surface: 'trpc', status: 200, seconds: 1 })
    metrics.countRefusal('l')
    metrics.countFallback('m')
    metrics.countRetry('p')
    const jobs = [{ queue: 'q', state: 'waiting' as const, count: 1 }]
    const reserved = [{ limit: 'l', unit: 'EUR', amount: 1 }]
    metrics.setSample({ jobs, reserved, diskFree: 1, reservationAge: 1, backupAge: 1 })
    metrics.recordAnchor()
    metrics.setProviderState('p', true)
    const known = new Map<string, Set<string>>()
    for (const [, name = '', labels = ''] of (await metrics.render()).matchAll(/^(\w+)(?:\{(.*)\})? \S+$/gm)) {
      const names = known.get(name) ?? new Set(['instance'])
      for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) names.add(label)
      known.set(name, names)
    }
    return known
  }

  test('the dashboard and the alerts name only metrics and labels that exist', async () => {
    const dashboard = JSON.parse(await file('grafana-dashboard.json'))
    const alerts = parse(await file('prometheus-alerts.yaml'))
    const queries: string[] = [
      ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }: { expr: string }) => expr)),
      ...dashboard.templating.list.map(({ query }: { query: string }) => query),
      ...alerts.groups.flatMap(({ rules }: { rules: { expr: string }[] }) => rules.map(({ expr }) => expr)),
    ]
    const known = await given()

    const named = queries.flatMap(metricsIn)
    expect(named.length).toBeGreaterThan(30)
    expect(named.filter(({ name }) => !known.has(name)).map(({ name }) => name)).toEqual([])
    const strange = named.filter(({ name, labels }) => labels.some((label) => label && !known.get(name)?.has(label)))
    expect(strange).toEqual([])
  })

  test('no panel of the dashboard lies over another one or beside the page', async () => {
    interface Panel {
      title: string
      gridPos: { x: number; y: number; w: number; h: number }
    }
    const { panels }: { panels: Panel[] } = JSON.parse(await file('grafana-dashboard.json'))
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, at) => [x + (at % w), y + Math.floor(at / w)] as const),
    )

    expect(new Set(cells.map(String)).size).toBe(cells.length)
    expect(cells.filter(([x]) => x >= 24)).toEqual([])
  })

  test('the dashboard shows each metric of the service', async () => {
    const dashboard = await file('grafana-dashboard.json')
    const own = [...(await given()).keys()].filter((name) => name.startsWith('svc_') && !/_(sum|count)$/.test(name))

    expect(own.filter((name) => !dashboard.includes(name))).toEqual([])
  })
})
