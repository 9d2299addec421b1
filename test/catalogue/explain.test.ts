import { afterAll, beforeAll, expect, test } from 'vitest'
import { buildQuestion, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { runCommand } from '../kit/command-line.ts'

interface Reason {
  code: string
  sentence: string
}

const resources = new AsyncDisposableStack()
let svc: TestApp

beforeAll(async () => {
  const upstream = resources.use(await startProvider())
  const config = resources.use(await writeConfig(''))
  const server = { adapter: 'openai-compatible', apiUrl: upstream.url, apiKey: 'k' }
  await config.write({
    providers: [
      {
        id: 'usual',
        ...server,
        models: [
          { id: 'open', external: true },
          { id: 'second', external: true },
          { id: 'off', active: false },
        ],
      },
      { id: 'special', ...server, groups: ['guests'], models: [{ id: 'staffed', groups: ['staff', 'deans'] }] },
    ],
  })
  svc = resources.use(await startApp({ AI_CONFIG: config.file }))
})
afterAll(() => resources.disposeAsync())

function run(...words: string[]) {
  const { DATABASE_URL = '', DATA_DIR } = svc.env
  return runCommand(words, { env: { DATABASE_URL, DATA_DIR, DATABASE_POOL: '2' } })
}

async function explain(username: string, model: string, way: 'browser' | 'token' = 'browser') {
  const { stdout } = await run('models', 'explain', username, model, '--json')
  const explanation = JSON.parse(stdout) as Record<typeof way, { canAsk: boolean; reasons: Reason[] }>
  const { canAsk, reasons } = explanation[way]
  return { canAsk, codes: reasons.map(({ code }) => code), text: reasons.map(({ sentence }) => sentence).join(' ') }
}

test('a person who can ask a model gets no reasons', async () => {
  await svc.user({ username: 'ada' })
  expect(await explain('ada', 'open')).toEqual({ canAsk: true, codes: [], text: '' })
  expect(await explain('ada', 'open', 'token')).toEqual({ canAsk: true, codes: [], text: '' })
})

test('all reasons that keep a person from a model are named at once', async () => {
  const { id } = await svc.user({ username: 'bob', keys: false })
  await svc.host.admin.setDisabled({ user: { id }, disabled: true })

  const { canAsk, codes, text } = await explain('bob', 'staffed')

  expect(canAsk).toBe(false)
  expect(codes).toEqual(['person_disabled', 'person_registering', 'other_group', 'other_provider_group'])
  expect(text).toContain(`It is for people in 'staff' or 'deans' alone.`)
  expect((await explain('bob', 'staffed', 'token')).codes).toEqual([
    'person_disabled',
    'other_surface',
    'other_group',
    'other_provider_group',
  ])
})

test('inactive and missing models are distinguished', async () => {
  await svc.user({ username: 'cid' })
  expect((await explain('cid', 'off')).codes).toEqual(['model_off'])
  expect((await explain('cid', 'nowhere')).codes).toEqual(['unknown_model'])
})

test('groups keep no administrator from a model', async () => {
  await svc.user({ username: 'root', role: 'admin' })
  expect(await explain('root', 'staffed')).toMatchObject({ canAsk: true })
})

test('browser and token are told apart, as the service treats them', async () => {
  const { token } = await svc.user({ username: 'fay' })
  const [rule] = await svc.rows<{ model_id: number }>(`delete from ai_model_usage_rules where usage_type = 'main'
    and model_id = (select id from ai_models where model_id = 'open') returning model_id`)
  const sendQuestion = () => svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', 'open') })

  expect([(await explain('fay', 'open')).codes, (await explain('fay', 'open', 'token')).codes]).toEqual([
    ['other_surface'],
    [],
  ])
  expect((await sendQuestion()).status).toBe(200)

  // The limit counts what is recorded when it is set.
  await svc.services.ai.usageLedger.flush()
  await svc.host.limits.set({ name: 'each token', for: 'token', cap: 1, unit: 'requests', per: 'day' })
  expect((await sendQuestion()).status).toBe(429)
  expect((await explain('fay', 'open', 'token')).codes).toEqual(['token_limit_reached'])
  await svc.host.limits.remove({ name: 'each token' })
  await svc.rows('delete from access_tokens where user_id = (select id from users where username = $1)', ['fay'])
  expect((await explain('fay', 'open', 'token')).codes).toEqual(['no_token'])
  await svc.rows(`insert into ai_model_usage_rules (model_id, usage_type) values ($1, 'main')`, [rule?.model_id])
})

test('a token that is bound to other models is told apart from none', async () => {
  const { id } = await svc.user({ username: 'gil' })
  await svc.rows('delete from access_tokens where user_id = $1', [id])
  const bind = (models: string) => run('token', '--username', 'gil', '--name', 'bot', '--models', models)
  const refused = await bind('second,nowhere')
  const made = await bind('second')
  const [token = ''] = /svc_\S+/.exec(made.stdout) ?? []
  const ask = async (model: string) =>
    (await svc.send('POST', '/api/ai-req', { token, body: buildQuestion('Hello', model) })).status

  expect(refused.stderr).toMatch(/^--models must name models and assistants .*, unlike 'nowhere'\.\n$/)
  expect((await run('token', '--list', '--username', 'gil')).stdout).toMatch(/bot +ai,user,read +second /)
  expect([await ask('second'), await ask('open')]).toEqual([200, 422])
  expect((await explain('gil', 'second', 'token')).codes).toEqual([])
  expect((await explain('gil', 'open', 'token')).codes).toEqual(['token_bound'])
})

test('a limit is named when used up, or without a price for the model', async () => {
  await svc.user({ username: 'eve' })
  await svc.host.limits.set({ name: 'nothing', for: 'user:eve', cap: 0, unit: 'requests', per: 'day' })
  await svc.host.limits.set({ name: 'money', for: 'user:eve', cap: 5, unit: 'EUR', per: 'day' })

  const { codes, text } = await explain('eve', 'open')

  expect(codes).toEqual(['limit_reached', 'limit_without_price'])
  expect(text).toMatch(/The limit 'nothing' is used up until \d{4}/)
  const limits = await svc.host.limits.of({ user: { username: 'eve' } })
  expect(limits.map(({ name, subject }) => [name, subject])).toEqual([
    ['money', 'user'],
    ['nothing', 'user'],
  ])
})
