import { afterAll, expect, test } from 'vitest'
import { listSessions } from '../../entities/identity/session.sql.ts'
import { keepApproval, keptApprovals } from '../../routers/ai/approvals/kept-approvals.ts'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { openProfile, showProfile } from '../kit/web/pages.ts'

const svc = await startApp()
afterAll(() => svc[Symbol.asyncDispose]())

/** On each of twelve days some calls of seven models, one without a price and one in another currency. */
async function addUsage(userId: number): Promise<void> {
  await svc.rows(
    `insert into usage_records (request_id, user_id, model, provider, input_tokens, output_tokens, context, outcome, duration_ms,
                                created_at, cost_micros, currency, estimated)
     select 'r', $1, 'model-' || m, 'p', 1000 * (8 - m), 100, 'api', 'completed', 10, now() - d * interval '2 days',
            case m when 7 then null else 1500 * (8 - m) end, case m when 7 then null when 6 then 'USD' else 'EUR' end, m = 2
       from generate_series(0, 11) d, generate_series(1, 7) m where (d + m) % 3 > 0`,
    [userId],
  )
}

describeWith('chromium')('the use of models on the profile page', () => {
  test.for([
    ['en-US', 'light', 1280],
    ['de-DE', 'dark', 390],
  ] as const)(
    'is drawn by day and model and summed up, in %s, %s, %i pixels wide',
    async ([locale, colorScheme, width]) => {
      const options = { locale, colorScheme, viewport: { width, height: 900 } }
      await using person = await openProfile(svc, `chart-${locale}`, options)
      const { page } = person
      await addUsage(person.id)

      await showProfile(page)

      const chart = page.locator('#usage figure')
      expect(await chart.locator('rect').count()).toBe(52)
      expect(await chart.locator('svg').getAttribute('aria-label')).toMatch(/229[.,]600/)
      const legend = await chart.locator('figcaption span').allTextContents()
      expect(legend.slice(0, 5)).toEqual(['model-1', 'model-2', 'model-3', 'model-4', 'model-5'])
      expect(legend).toHaveLength(6)
      const table = page.locator('#usage > table')
      expect(await table.locator('tbody tr').count()).toBe(7)
      const total = await table.locator('tfoot tr').textContent()
      expect(total).toContain('56')
      expect(total).toMatch(/229[.,]600/)
      expect(total).toMatch(
        locale === 'en-US'
          ? /€0\.30.*\+.*\$0\.024|\$0\.024.*\+.*€0\.30/
          : /0,30\s€.*\+.*0,024\s\$|0,024\s\$.*\+.*0,30\s€/,
      )
      expect(await page.locator('#usage .hint').allTextContents()).toEqual([
        expect.stringMatching(/: 8$/),
        expect.stringMatching(/: 8$/),
      ])
      await page.click('#usage summary')
      expect(await page.locator('#usage details tbody tr').count()).toBe(12)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      await expectAccessible(page)
      expect(person.complaints).toEqual([])
    },
  )

  test("is nobody else's", async () => {
    await using ada = await openProfile(svc, 'chart-ada')
    await using bob = await openProfile(svc, 'chart-bob')
    await addUsage(ada.id)

    await showProfile(bob.page)

    expect(await bob.page.locator('#usage').textContent()).toBe('You have not used a model in the last 30 days.')
  })
})

describeWith('chromium')('the limits on the profile page', () => {
  test.for([
    ['en-US', 'dark', 390],
    ['de-DE', 'light', 1280],
  ] as const)('have a meter each, in %s, %s, %i pixels wide', async ([locale, colorScheme, width]) => {
    const options = { locale, colorScheme, viewport: { width, height: 900 } }
    await using person = await openProfile(svc, `limits-${locale}`, options)
    const { page, id } = person
    expect(await page.locator('#limits').textContent()).toBe('')
    const limits = [
      { name: 'calls', for: `user:limits-${locale}`, cap: 1000, unit: 'requests', per: 'day' },
      { name: 'money', for: `user:limits-${locale}`, cap: 2, unit: 'EUR', per: 'month', mode: 'observe' },
      { name: 'words', for: `user:limits-${locale}`, cap: 5000, unit: 'tokens', per: 'hour' },
    ] as const
    for (const { name, ...limit } of limits) await svc.host.limits.set({ ...limit, name: `${name} ${locale}` })
    await svc.rows(
      `insert into usage_counters (limit_id, subject_id, starts_at, ends_at, stripe, share, cap, used, held)
       select id, $1, starts_at, starts_at + ('1 ' || period)::interval, 0, cap, cap,
              case unit when 'requests' then 500 else 1900000 end, case unit when 'requests' then 20 else 0 end
         from usage_limits, generate_series(0, 1) n,
              lateral (select date_trunc(period, now(), time_zone) + n * ('1 ' || period)::interval as starts_at) t
        where name like '%' || $2 and unit <> 'tokens'`,
      [id, locale],
    )

    await showProfile(page)
    await page.locator('#limits li').first().waitFor()

    const told = await page.locator('#limits .hint').allTextContents()
    expect(told).toEqual(
      locale === 'en-US'
        ? [
            expect.stringMatching(
              /^500 of 1,000 requests used · 20 held for requests under way · 480 left · begins anew [^·]+$/,
            ),
            expect.stringMatching(/^€1\.90 of €2\.00 used · €0\.10 left · begins anew [^·]+ · not enforced$/),
            expect.stringMatching(/^0 of 5,000 tokens used · 5,000 left · begins anew \d/),
          ]
        : [
            expect.stringMatching(
              /^500 von 1\.000 Anfragen verbraucht · 20 für laufende Anfragen gehalten · 480 übrig · beginnt neu am [^·]+$/,
            ),
            expect.stringMatching(
              /^1,90\s€ von 2,00\s€ verbraucht · 0,10\s€ übrig · beginnt neu am [^·]+ · wird nicht durchgesetzt$/,
            ),
            expect.stringMatching(/^0 von 5\.000 Token verbraucht · 5\.000 übrig · beginnt neu am \d/),
          ],
    )
    expect(
      await page
        .locator('#limits meter')
        .evaluateAll((all) => all.map((one) => (one as { value: number } & object).value)),
    ).toEqual([520, 1_900_000, 0])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    await expectAccessible(page)
    expect(person.complaints).toEqual([])
  })
})

describeWith('chromium')('the limits of rooms on the profile page', () => {
  test('are named by the rooms in which the person may ask, and not by others', async () => {
    await using person = await openProfile(svc, 'in-rooms')
    const rooms = await svc.rows<{ id: number }>(
      "insert into rooms (name, slug, created_at, updated_at) values ('Chess <b>', 'chess-1', now(), now()), ('Go', 'go-1', now(), now()) returning id",
    )
    await svc.rows(
      `insert into room_members (room_id, user_id, role, created_at, updated_at)
       select id, $1, case name when 'Go' then 'viewer' else 'editor' end, now(), now() from rooms`,
      [person.id],
    )
    for (const { id } of rooms)
      await svc.host.limits.set({
        name: `room ${id}`,
        for: `room:${id}`,
        cap: 5,
        unit: 'requests',
        per: 'day',
      } as never)

    await showProfile(person.page)
    await person.page.locator('#limits li').first().waitFor()

    expect(await person.page.locator('#limits strong').allTextContents()).toEqual([`room ${rooms[0]?.id} · Chess <b>`])
    expect(person.complaints).toEqual([])
  })
})

describeWith('chromium')('the allowed tools on the profile page', () => {
  test('are taken back one by one; what a session allowed that has ended is not among them', async () => {
    await using person = await openProfile(svc, 'allowing', { locale: 'de-DE' })
    const { page, id, complaints } = person
    const { id: token } = await svc.host.tokens.createFor({ user: { id }, name: 'script', abilities: ['ai'] })
    const [session] = await svc.services.sql(listSessions, [id, new Date(0)])
    for (const credential of [`token:${token}`, `session:${session?.handle}`, 'session:ended'])
      await keepApproval(svc.services, id, {
        ...{ credential, conversation: '<b>one</b>', tool: 'mail_send', server: 'Mail', hash: 'h' },
      })

    await showProfile(page)
    const lines = page.locator('#approvals li')
    await lines.first().waitFor()

    expect(await lines.allTextContents()).toEqual([
      expect.stringMatching(
        /^mail_sendVon „Mail“ · In der Unterhaltung „<b>one<\/b>“Für das Token „script“ · Gültig bis /,
      ),
      expect.stringContaining('Für einen Browser, in dem Sie angemeldet sind'),
    ])
    await expectAccessible(page)
    await lines.first().locator('button').click()
    await page.locator('#approvals-outcome:has-text("mail_send")').waitFor()
    expect(await lines.count()).toBe(1)
    expect((await keptApprovals(svc.services, id)).map(({ credential }) => credential)).not.toContain(`token:${token}`)
    expect(complaints).toEqual([])
  })
})
