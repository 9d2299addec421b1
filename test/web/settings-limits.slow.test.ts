import { afterAll, expect, test } from 'vitest'
import { limited, requestLimit } from '../kit/ai/limited-service.ts'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { openSettings, showSettings } from '../kit/web/pages.ts'

const svc = await startApp()
afterAll(() => svc[Symbol.asyncDispose]())

describeWith('chromium')('the limits in the settings', () => {
  test.for([
    ['en-US', 'dark', 390],
    ['de-DE', 'light', 1280],
  ] as const)('have a meter each, in %s, %s, %i pixels wide', async ([locale, colorScheme, width]) => {
    const options = { locale, colorScheme, viewport: { width, height: 900 } }
    await using person = await openSettings(svc, `limits-${locale}`, { ...options, section: 'usage' })
    const { page, id } = person
    expect(await page.locator('meter').count()).toBe(0)
    const limits = [
      { name: 'calls', for: `user:limits-${locale}`, cap: 1000, unit: 'requests', per: 'day' },
      { name: 'money', for: `user:limits-${locale}`, cap: 2, unit: 'EUR', per: 'month', mode: 'observe' },
      { name: 'words', for: `user:limits-${locale}`, cap: 5000, unit: 'tokens', per: 'hour' },
    ] as const
    for (const { name, ...limit } of limits) await svc.host.limits.set({ ...limit, name: `${name} ${locale}` })
    await svc.rows(
      `insert into usage_counters (limit_id, subject_id, starts_at, ends_at, used, held)
       select id, $1, starts_at, starts_at + ('1 ' || period)::interval,
              case unit when 'requests' then 500 else 1900000 end, case unit when 'requests' then 20 else 0 end
         from usage_limits, generate_series(0, 1) n,
              lateral (select date_trunc(period, now(), time_zone) + n * ('1 ' || period)::interval as starts_at) t
        where name like '%' || $2 and unit <> 'tokens'`,
      [id, locale],
    )

    await showSettings(page, 'usage')
    await page.locator('.limits li').first().waitFor()

    const hints = await page.locator('.limits .hint').allTextContents()
    expect(hints).toEqual(
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
        .locator('.limits meter')
        .evaluateAll((all) => all.map((one) => (one as { value: number } & object).value)),
    ).toEqual([520, 1_900_000, 0])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width)
    await expectAccessible(page)
    expect(person.complaints).toEqual([])
  })
})

describeWith('chromium')('the limits of rooms in the settings', () => {
  test('are named by the rooms in which the person may ask', async () => {
    await using person = await openSettings(svc, 'in-rooms')
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

    await showSettings(person.page, 'usage')
    await person.page.locator('.limits li').first().waitFor()

    expect(await person.page.locator('.limits strong').allTextContents()).toEqual([`room ${rooms[0]?.id} · Chess <b>`])
    expect(person.complaints).toEqual([])
  })
})

describeWith('chromium')('the limits of groups, models and providers in the settings', () => {
  test('are distinguished by their subject, which need not be the person', async () => {
    await using world = await limited(
      ['group', 'model:mock-1', 'provider:local', 'user'].map((subject) => ({
        ...requestLimit,
        name: `of ${subject.replace(':', ' ')}`,
        for: subject,
      })),
    )
    await using person = await openSettings(world.svc, 'in-groups', { viewport: { width: 390, height: 900 } })
    const { page, id } = person
    const long = 'x'.repeat(100)
    await world.svc.host.admin.setGroups({ user: { id }, groups: ['Class <b>', long] })

    await showSettings(page, 'usage')
    await page.locator('.limits li').first().waitFor()

    const names = [
      'of group · Class <b>',
      `of group · ${long}`,
      'of model mock-1 · mock-1',
      'of provider local · local',
      'of user',
    ]
    expect(await page.locator('.limits strong').allTextContents()).toEqual(names)
    const labels = await page.locator('.limits meter').evaluateAll((all) => all.map((one) => one.ariaLabel))
    expect(labels).toEqual(names)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    expect(person.complaints).toEqual([])
  })
})
