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
    await page.locator('main li').first().waitFor()

    const lines = page.getByRole('list', { name: locale === 'en-US' ? 'Your limits' : 'Ihre Limits' }).locator('p')
    expect(await lines.allTextContents()).toEqual(
      locale === 'en-US'
        ? [
            'calls en-US480 requests left',
            'You can use 1,000 requests per day.',
            expect.stringMatching(/^500 used · 20 reserved for requests in progress · resets on [^·]+$/),
            'money en-US€0.10 left',
            'You can use €2.00 per month.',
            expect.stringMatching(/^€1\.90 used · resets on [^·]+ · only counted, never refused$/),
            'words en-US5,000 tokens left',
            'You can use 5,000 tokens per hour.',
            expect.stringMatching(/^0 used · resets on \w/),
          ]
        : [
            'calls de-DEnoch 480 Anfragen',
            'Sie können 1.000 Anfragen je Tag nutzen.',
            expect.stringMatching(
              /^500 verbraucht · 20 für laufende Anfragen reserviert · wird am [^·]+ zurückgesetzt$/,
            ),
            expect.stringMatching(/^money de-DEnoch 0,10\s€$/),
            expect.stringMatching(/^Sie können 2,00\s€ je Monat nutzen\.$/),
            expect.stringMatching(
              /^1,90\s€ verbraucht · wird am [^·]+ zurückgesetzt · wird nur gezählt, nie abgelehnt$/,
            ),
            'words de-DEnoch 5.000 Token',
            'Sie können 5.000 Token je Stunde nutzen.',
            expect.stringMatching(/^0 verbraucht · wird am \d[^·]+ zurückgesetzt$/),
          ],
    )
    expect(
      await page
        .locator('main li meter')
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
    await person.page.locator('main li').first().waitFor()

    expect(await person.page.locator('main li meter').evaluateAll((all) => all.map((one) => one.ariaLabel))).toEqual([
      `room ${rooms[0]?.id}: The room “Chess <b>” can use 5 requests per day.`,
    ])
    expect(person.complaints).toEqual([])
  })
})

describeWith('chromium')('the limits of groups, models and providers in the settings', () => {
  test('name the group, the model or the provider that they are for', async () => {
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
    await page.locator('main li').first().waitFor()

    const labels = await page.locator('main li meter').evaluateAll((all) => all.map((one) => one.ariaLabel))
    expect(labels).toEqual([
      'of group: The group “Class <b>” can use 20 requests per month together.',
      `of group: The group “${long}” can use 20 requests per month together.`,
      'of model mock-1: All people here can use 20 requests per month together for Mock 1.',
      'of provider local: All people here can use 20 requests per month together for models of local.',
      'of user: You can use 20 requests per month.',
    ])
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390)
    expect(person.complaints).toEqual([])
  })
})
