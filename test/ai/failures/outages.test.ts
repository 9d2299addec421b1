import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import {
  answers,
  type Behaviour,
  buildQuestion,
  type ProviderRequest,
  refuses,
  startProvider,
  writeConfig,
} from '../../kit/ai/provider.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { createApiClient } from '../../kit/json-api/client.ts'
import { openPusher } from '../../kit/realtime/pusher.ts'

const SLOW = { timeout: 60_000, interval: 20 }

const byKey = new Map<string, Behaviour>()
const keyOf = ({ headers }: ProviderRequest) => String(headers.authorization).replace('Bearer ', '')

const resources = new AsyncDisposableStack()
let settings: Record<string, string>
/** Two replicas: one gets the calls, and the tests look at the models on the other one. */
let calledReplica: TestApp
let shownReplica: TestApp
let token: string
/** A second person's token: failures that one person alone meets open no circuit. */
let otherToken: string
let lists: ProviderRequest[]

beforeAll(async () => {
  const upstream = resources.use(
    await startProvider((request, response) => (byKey.get(keyOf(request)) ?? refuses(500))(request, response)),
  )
  lists = upstream.listRequests
  const names = ['patient', 'corrected', 'quick', 'orphaned', 'twofold', 'relapsing', 'partly']
  upstream.listing = { data: names.map((id) => ({ id })) }
  const config = resources.use(await writeConfig(''))
  const provider = (id: string, openFor: string, more: object = {}) => ({
    id,
    adapter: 'openai-compatible',
    apiUrl: upstream.url,
    apiKey: id,
    models: [{ id, external: true }],
    circuit: { failures: 1, openFor },
    ...more,
  })
  await config.write({
    providers: [
      provider('patient', '1h'),
      provider('corrected', '1h'),
      provider('quick', '200ms'),
      provider('orphaned', '200ms'),
      provider('relapsing', '1h'),
      provider('partly', '200ms'),
      provider('twofold', '1h', { servers: [{ apiKey: 'twin' }] }),
    ],
  })
  settings = { AI_CONFIG: config.file, APP_KEY: randomBytes(32).toString('base64') }
  calledReplica = resources.use(await startApp(settings))
  settings['DATABASE_URL'] = String(calledReplica.env.DATABASE_URL)
  shownReplica = resources.use(await startApp(settings))
  token = (await calledReplica.user()).token
  otherToken = (await calledReplica.user()).token
  await calledReplica.host.models.check()
})
afterAll(() => resources[Symbol.asyncDispose]())

const sendQuestion = (model: string, svc = calledReplica, as = token) =>
  svc.send('POST', '/api/ai-req', { token: as, body: buildQuestion('Hello', model) })

/** Sends a question of each of two people to a failing provider. */
async function sendFailingQuestions(model: string, svc = calledReplica): Promise<void> {
  for (const as of [otherToken, token]) expect((await sendQuestion(model, svc, as)).status).toBe(500)
}

async function statusOf(model: string): Promise<unknown> {
  const { list } = await createApiClient(shownReplica, token).get('/ai-models')
  return list.find(({ attributes }) => attributes['modelId'] === model)?.attributes['status']
}

const untilShown = (model: string, status: string) => vi.waitUntil(async () => (await statusOf(model)) === status, SLOW)

const versionOf = (model: string) => calledReplica.rows('select xmin::text from ai_models where model_id = $1', [model])

test("a failing provider's models go offline on every replica by a single change", async () => {
  using client = openPusher(shownReplica.url, { token })
  await client.subscribe('private-AllUsers')
  const [model] = await calledReplica.rows<{ id: number }>(`select id from ai_models where model_id = 'patient'`)
  const readChanges = () => client.dataOf('change').filter(({ subject }) => subject === String(model?.id))
  expect(await statusOf('patient')).toBe('online')

  await sendFailingQuestions('patient')

  await untilShown('patient', 'offline')
  await client.until('change', 1)
  const version = await versionOf('patient')
  expect((await sendQuestion('patient')).status).toBe(500)
  // The provider's list of models still has the model.
  const checked = await shownReplica.host.models.check()
  expect(checked.find(({ modelId }) => modelId === 'patient')).toMatchObject({ status: 'offline' })
  expect(await versionOf('patient')).toEqual(version)
  expect(readChanges()).toEqual([expect.objectContaining({ kind: 'ai-models.updated' })])
  expect(await statusOf('quick')).toBe('online')
})

test("an administrator's new settings of a provider end its outage with the next call", async () => {
  await sendFailingQuestions('corrected')
  await untilShown('corrected', 'offline')
  byKey.set('corrected', answers('Here again.'))
  await calledReplica.changeCatalogue(
    `update ai_providers set settings = '{"circuit": {"failures": 2}}' where provider_id = 'corrected'`,
  )

  expect((await sendQuestion('corrected')).status).toBe(200)

  await untilShown('corrected', 'online')
})

test('the models of a provider are online as soon as it answers again', async () => {
  await sendFailingQuestions('quick')
  await untilShown('quick', 'offline')
  byKey.set('quick', answers('Here again.'))

  await vi.waitUntil(async () => (await sendQuestion('quick')).ok, SLOW)

  await untilShown('quick', 'online')
})

test('an outage that only a lost replica knew of ends in its time', async () => {
  const gone = await startApp(settings)
  await sendFailingQuestions('orphaned', gone)
  await untilShown('orphaned', 'offline')
  await gone[Symbol.asyncDispose]()

  await vi.waitUntil(async () => {
    await shownReplica.host.models.checkOutages()
    return (await statusOf('orphaned')) === 'unknown'
  }, SLOW)
  expect(await shownReplica.host.models.check()).toContainEqual(
    expect.objectContaining({ modelId: 'orphaned', status: 'unknown' }),
  )

  expect(
    await calledReplica.rows(
      `select from provider_outages o join ai_providers p on p.id = o.provider_id
        where p.provider_id = 'orphaned' and not o.is_over`,
    ),
  ).toEqual([])
  byKey.set('orphaned', answers('Here again.'))
  expect((await sendQuestion('orphaned', shownReplica)).status).toBe(200)
  await untilShown('orphaned', 'online')
})

test('a provider with several servers is offline only where none of them answers', async () => {
  byKey.set('twin', answers('From the twin.'))
  const calls = [await sendQuestion('twofold'), await sendQuestion('twofold'), await sendQuestion('twofold')]
  expect(calls.map(({ status }) => status)).toEqual([200, 200, 200])
  expect(await statusOf('twofold')).toBe('online')
  byKey.delete('twin')

  await sendFailingQuestions('twofold')

  await untilShown('twofold', 'offline')
})

test('outages that a list of models ends grow longer until a call succeeds', async () => {
  const provider = 'relapsing'
  const ofProvider = '(select id from ai_providers where provider_id = $1)'
  const minutesOfOutage = async () => {
    await shownReplica.host.models.beginOutage({ provider, retryAfter: 60_000 })
    const length = `select round(extract(epoch from until - now()) / 60)::int as minutes from provider_outages`
    const [row] = await calledReplica.rows<{ minutes: number }>(`${length} where provider_id = ${ofProvider}`, [
      provider,
    ])
    await untilShown(provider, 'offline')
    return row?.minutes
  }
  const end = async () => {
    const over = "update provider_outages set until = now() - interval '1 second'"
    await calledReplica.rows(`${over} where provider_id = ${ofProvider}`, [provider])
    await shownReplica.host.models.checkOutages()
    await untilShown(provider, 'unknown')
  }
  const lengths: unknown[] = []
  for (let outages = 0; outages < 5; outages++) {
    lengths.push(await minutesOfOutage())
    await end()
  }
  expect(lengths).toEqual([2, 4, 8, 15, 15])

  const { length } = lists
  await shownReplica.host.models.endOutage({ provider })
  await shownReplica.host.models.endOutage({ provider })

  expect(await statusOf(provider)).toBe('online')
  expect(lists.slice(length).map(keyOf)).toEqual([provider])
  expect([await minutesOfOutage(), await minutesOfOutage()]).toEqual([2, 2])
  expect(await calledReplica.host.models.check()).toContainEqual(
    expect.objectContaining({ provider, status: 'offline' }),
  )
})

test('an answer ends an outage at once without any list of models', async () => {
  await using svc = await startApp()
  const statuses = async () => {
    const models = await svc.rows<{ status: string }>('select status from ai_models where active')
    return [...new Set(models.map(({ status }) => status))]
  }
  await svc.host.models.beginOutage({ provider: 'demo', retryAfter: 60_000 })
  expect(await statuses()).toEqual(['offline'])
  await svc.rows('alter table provider_outages alter until type timestamptz(0)')
  // Waits until the rest of the second is longer than the check takes.
  await svc.rows('select pg_sleep(mod(1.5 - mod(extract(second from clock_timestamp()), 1), 1))')

  await svc.host.models.endOutage({ provider: 'demo' })

  expect(await statuses()).toEqual(['online'])
})

test('an answer on any replica ends an outage, and failing retries begin none', async () => {
  let tries = 0
  byKey.set('partly', (request, response) => {
    const isInVain = JSON.stringify(request.body).includes('Hello')
    if (isInVain) tries++
    return (isInVain ? refuses(500) : answers('Here I am.'))(request, response)
  })
  const requested = Promise.withResolvers<void>()
  const isLost = Promise.withResolvers<void>()
  const behave = byKey.get('partly') as Behaviour
  byKey.set('partly', async (...request) => {
    requested.resolve()
    await isLost.promise
    return answers('Begun before.')(...request)
  })
  const early = sendQuestion('partly', shownReplica)
  await requested.promise
  byKey.set('partly', behave)
  await sendFailingQuestions('partly')
  await untilShown('partly', 'offline')
  await calledReplica.rows(`update provider_outages o set until = now() + interval '1h' from ai_providers p
    where p.id = o.provider_id and p.provider_id = 'partly'`)
  await shownReplica.host.models.checkOutages()
  isLost.resolve()
  expect((await early).status).toBe(200)
  expect(await shownReplica.host.models.check()).toContainEqual(
    expect.objectContaining({ modelId: 'partly', status: 'offline' }),
  )

  const body = buildQuestion('Anybody there?', 'partly')
  expect((await shownReplica.send('POST', '/api/ai-req', { token, body })).status).toBe(200)

  await untilShown('partly', 'online')
  const version = await versionOf('partly')
  const enough = tries + 3
  await vi.waitUntil(async () => (await sendQuestion('partly')).status === 500 && tries >= enough, SLOW)
  expect(await versionOf('partly')).toEqual(version)
})
