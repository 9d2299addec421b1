import { afterAll, expect, test } from 'vitest'
import { listSessions } from '../../entities/identity/session.sql.ts'
import { listRememberedApprovals, rememberApproval } from '../../routers/ai/approvals/remembered-approvals.ts'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { openSettings, showSettings } from '../kit/web/pages.ts'

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

/** Offers one of these models. */
const offerModel = (modelId: string, label: string) =>
  svc.rows(
    `with added as (
       insert into ai_models (provider_id, model_id, label, model_type, input, output, status, demand, flags, native_capabilities, fallback, active, created_at, updated_at)
       select min(id), $1, $2, 'chat', '{text}', '{text}', 'unknown', 'low', '{}', '{}', '{}', true, now(), now() from ai_providers
       on conflict do nothing returning id
     )
     insert into ai_model_usage_rules (model_id, usage_type) select id, 'main' from added`,
    [modelId, label],
  )

describeWith('chromium')('the use of models in the settings', () => {
  test.for([
    ['en-US', 'light', 1280],
    ['de-DE', 'dark', 390],
  ] as const)(
    'is drawn and summed by day and model, in %s, %s, %i pixels wide',
    async ([locale, colorScheme, width]) => {
      const options = { locale, colorScheme, viewport: { width, height: 900 } }
      await using person = await openSettings(svc, `chart-${locale}`, options)
      const { page } = person
      await addUsage(person.id)
      await offerModel('model-1', 'Model One')

      await showSettings(page, 'usage')

      const report = page.locator('main section')
      const chart = report.locator('figure')
      await expect.poll(() => chart.locator('rect').count()).toBe(52)
      expect(await chart.locator('svg').getAttribute('aria-label')).toMatch(/229[.,]600/)
      await chart.getByText(/^(Highest|Höchstwert): [\d.,]+ tokens?$/i).waitFor()
      const legend = await chart.locator('figcaption span').allTextContents()
      expect(legend.slice(0, 5)).toEqual(['Model One', 'model-2', 'model-3', 'model-4', 'model-5'])
      expect(legend).toHaveLength(6)
      const table = report.locator('table').first()
      expect(await table.locator('tbody tr').count()).toBe(7)
      expect(await table.locator('tbody tr').first().textContent()).toContain('Model One')
      const total = await table.locator('tfoot tr').textContent()
      expect(total).toContain('56')
      expect(total).toMatch(/229[.,]600/)
      expect(total).toMatch(
        locale === 'en-US'
          ? /€0\.30.*\+.*\$0\.024|\$0\.024.*\+.*€0\.30/
          : /0,30\s€.*\+.*0,024\s\$|0,024\s\$.*\+.*0,30\s€/,
      )
      expect(await report.locator('.hint').allTextContents()).toEqual([
        expect.stringMatching(/\b8\b/),
        expect.stringMatching(/\b8\b/),
      ])
      await report.locator('summary').click()
      expect(await report.locator('details tbody tr').count()).toBe(12)
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
      await expectAccessible(page)
      expect(person.complaints).toEqual([])
    },
  )

  test("is nobody else's", async () => {
    await using ada = await openSettings(svc, 'chart-ada')
    await using bob = await openSettings(svc, 'chart-bob')
    await addUsage(ada.id)

    await showSettings(bob.page, 'usage')

    await bob.page.getByText('You have not used a model in the last 30 days.').waitFor()
    expect(await bob.page.locator('table').count()).toBe(0)
  })
})

describeWith('chromium')('the allowed tools in the settings', () => {
  test('are revoked one by one, without those of ended sessions', async () => {
    await using person = await openSettings(svc, 'allowing', { locale: 'de-DE' })
    const { page, id, complaints } = person
    const { id: token } = await svc.host.tokens.createFor({ user: { id }, name: 'script', abilities: ['ai'] })
    const [session] = await svc.services.sql(listSessions, [id, new Date(0)])
    for (const credential of [`token:${token}`, `session:${session?.handle}`, 'session:ended'])
      await rememberApproval(svc.services, id, {
        credential,
        conversation: '<b>one</b>',
        tool: 'mail_send',
        server: 'Mail',
        hash: 'h',
      })

    await showSettings(page, 'apps')
    const lines = page.getByRole('list', { name: 'Erlaubte Werkzeuge' }).getByRole('listitem')

    expect(await lines.allTextContents()).toEqual([
      expect.stringMatching(/^mail_sendVon „Mail“ · Im Chat „<b>one<\/b>“Für das Token „script“ · Gültig bis /),
      expect.stringContaining('Für einen Browser, in dem Sie angemeldet sind'),
    ])
    await expectAccessible(page)
    await lines.first().locator('button').click()
    await page.getByRole('status').filter({ hasText: 'mail_send' }).waitFor()
    await expect.poll(() => lines.count()).toBe(1)
    expect((await listRememberedApprovals(svc.services, id)).map(({ credential }) => credential)).not.toContain(
      `token:${token}`,
    )
    expect(complaints).toEqual([])
  })
})
