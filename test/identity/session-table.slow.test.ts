import { describe, expect, test, vi } from 'vitest'
import {
  deleteExpiredSessions,
  findSessions,
  listSessions,
  startRegistration,
  startSession,
} from '../../entities/identity/session.sql.ts'
import type { Statement } from '../../entities/sql/statement.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount, openBrowser, signIn, type TestBrowser } from '../kit/browser.ts'
import { cloneDatabase } from '../kit/database.ts'
import {
  CHROME,
  endOtherSessions,
  endSession,
  FIREFOX,
  GUEST,
  readOwnHandle,
  readSessionList,
  readStandings,
  SIGNED_IN,
  signInWithAgent,
  startWithAda,
} from '../kit/identity/sessions.ts'
import { openClient } from '../kit/postgres-client.ts'

describe('on two replicas', () => {
  test('sessions are seen from both, and end on both at once', async () => {
    await using database = await cloneDatabase()
    const settings = { DATABASE_URL: database.url, APP_KEY: 'aVzdCBrZXkgb2YgdGhlIHNlcnZpY2U6IGxvbmcgZW5vdWdo' }
    await using first = await startWithAda(settings)
    await using second = await startApp({ ...settings, DATA_DIR: first.folder })
    const here = await signInWithAgent(first, FIREFOX)
    const there = await signInWithAgent(second, CHROME)
    const elsewhere = await signInWithAgent(second, CHROME)
    const acrossOf = (browser: TestBrowser, url: string) => {
      const across = openBrowser(url)
      across.cookies.set('svc_session', browser.session!)
      return across
    }

    expect(await readSessionList(here)).toEqual(await readSessionList(acrossOf(here, second.url)))
    expect(await readSessionList(here)).toHaveLength(3)
    await endSession(here, await readOwnHandle(there))

    expect(await readStandings(here, there, acrossOf(there, first.url), elsewhere)).toEqual([
      SIGNED_IN,
      GUEST,
      GUEST,
      SIGNED_IN,
    ])
    await endOtherSessions(here)
    expect(await readStandings(here, acrossOf(here, second.url), elsewhere, acrossOf(elsewhere, first.url))).toEqual([
      SIGNED_IN,
      SIGNED_IN,
      GUEST,
      GUEST,
    ])
    expect(await readSessionList(acrossOf(here, second.url))).toHaveLength(1)
  })
})

describe('the table of sessions', () => {
  const fill = (svc: TestApp, owner: string, renewedAt = `now() - n * interval '1 second'`) =>
    svc.rows(
      `insert into sessions (hash, method, signed_in_at, renewed_at, csrf_token, user_id, subject)
       select 'old ' || n, 'password', now(), ${renewedAt}, '', ${owner} from generate_series(1, 100) n`,
    )
  const oldOnes = async (svc: TestApp) =>
    (await svc.rows<{ hash: string }>(`select hash from sessions where hash like 'old %'`)).map(({ hash }) => hash)

  test.for([
    ['a person', { known: true }, `(select id from users where username = 'ada'), null`],
    ['somebody who is registering', { known: false }, `null, '{"username": "ada"}'`],
  ] as const)(
    'the table of sessions holds a hundred of %s, and drops the longest unused',
    async ([, options, owner]) => {
      await using svc = await startApp()
      const { browser: bob } = await signIn(svc, 'bob', options)
      await addAccount(svc, 'ada', options)
      await fill(svc, owner)

      const { browser } = await signIn(svc, 'ada', { known: false })

      const left = await oldOnes(svc)
      expect(left).toHaveLength(99)
      expect(left).not.toContain('old 100')
      expect(await readStandings(browser, bob)).not.toContain(GUEST)
    },
  )

  test('expired sessions are deleted without any sign-in, and the others stay', async () => {
    await using svc = await startApp({ SESSION_LIFETIME: '1s' }, { runsTasks: true })
    const renewedAt = `now() + case when n = 7 then interval '1 day' else interval '-1 day' end`
    await fill(svc, `null, jsonb_build_object('username', n::text)`, renewedAt)

    await vi.waitFor(async () => expect(await oldOnes(svc)).toEqual(['old 7']), { timeout: 60_000, interval: 100 })
  })

  test('the table of sessions is read by its indexes however much it holds', async () => {
    await using svc = await startWithAda()
    await svc.rows(`insert into sessions (hash, method, signed_in_at, renewed_at, csrf_token, subject)
      select 'more ' || n, 'password', now(), now(), '', jsonb_build_object('username', 'u' || n) from generate_series(1, 20000) n`)
    await svc.rows('analyze sessions')
    await using client = await openClient(svc.env.DATABASE_URL)
    await client.query('set plan_cache_mode = force_generic_plan')
    const planOf = async ({ name, text }: Statement<unknown>, values: string) => {
      await client.query(`prepare "${name}" as ${text}`)
      const { rows } = await client.query(`explain execute "${name}" (${values})`)
      return rows.map((row) => row['QUERY PLAN']).join('\n')
    }

    const plans = [
      await planOf(findSessions, `'{more 7}'`),
      await planOf(listSessions, '2, now()'),
      await planOf(startSession, `'h', 'password', now(), '', null, null, 2, 100, null`),
      await planOf(startRegistration, `'h', 'password', now(), '', null, null, '{"username": "u7"}', 100`),
      await planOf(deleteExpiredSessions, 'now(), 100'),
    ]

    for (const plan of plans) expect(plan).not.toContain('Seq Scan on sessions')
  })
})
