import { randomUUID } from 'node:crypto'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { APPS_ON } from '../kit/apps/ext-app.ts'
import { addAccount } from '../kit/browser.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectFitting, openAdmin, showAdmin } from '../kit/web/admin.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForAddress } from '../kit/web/pages.ts'

let svc: TestApp
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-announcements-'))
  await mkdir(join(folder, 'pause'))
  for (const locale of ['en_US', 'de_DE']) await writeFile(join(folder, 'pause', `${locale}.md`), 'We rest on Sunday.')
  svc = await startApp({ ...APPS_ON, ANNOUNCEMENTS: folder })
})
afterAll(async () => {
  await svc[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

/** Calls of somebody, for sums and limits. */
async function addUsage(userId: number): Promise<void> {
  await svc.rows(
    `insert into usage_records (request_id, user_id, model, provider, input_tokens, output_tokens, context, outcome, duration_ms, cost_micros, currency, created_at)
     select 'r' || n, $1, 'demo', 'demo', 1000, 200, 'api', 'completed', 1200, 90000, 'EUR', now() from generate_series(1, 20) n`,
    [userId],
  )
}

describeWith('chromium')('operation in the administration', () => {
  test('the overview says whether it is well, what was used, and what waits', async () => {
    await using admin = await openAdmin(svc, 'alma', { path: 'overview' })
    const { page } = admin
    await svc.rows('delete from usage_records')
    await addUsage(admin.id)
    await showAdmin(page, 'overview')
    await page.getByText('All is well').waitFor()
    await page.getByText('Nothing waits for a decision.').waitFor()
    await page.getByRole('img', { name: 'Tokens per day in the last 30 days, 24,000 in total' }).waitFor()
    await page.getByRole('img', { name: /^Cost per day in the last 30 days, €/ }).waitFor()
    await page.getByText('Show as a table').click()
    const cells = page.getByRole('table', { name: 'Last 30 days' }).locator('tbody td')
    await cells.nth(3).waitFor()
    const alignments = (await cells.all()).map((cell) =>
      cell.evaluate((it) => it.ownerDocument.defaultView?.getComputedStyle(it).textAlign),
    )
    expect(await Promise.all(alignments)).toEqual(['start', 'end', 'end', 'end'])
    await expectFitting(page, 'overview')
  })

  test('the sections stand in three topics below the overview, on narrow screens too', async () => {
    await using admin = await openAdmin(svc, 'dora', { path: 'audit', viewport: { width: 390, height: 844 } })
    const { page } = admin

    await page.getByRole('main').getByRole('button', { name: 'Admin' }).click()

    const list = page.getByRole('navigation', { name: 'Admin' })
    await list.getByRole('link', { name: 'Overview' }).waitFor()
    const topics = list.getByRole('region')
    expect(await topics.getByRole('heading').allTextContents()).toEqual([
      'People and access',
      'Models and tools',
      'Operation',
    ])
    expect(await topics.getByRole('link').count()).toBe(17)
    await expectAccessible(page)
  })

  test('a limit is simulated, set, shown with its use, topped up and removed', async () => {
    await using admin = await openAdmin(svc, 'bruno', { path: 'limits' })
    const { page } = admin
    const dialog = page.getByRole('dialog')
    await addUsage(admin.id)
    await page.getByRole('button', { name: 'Set limit' }).click()
    await dialog.getByLabel('Name').fill('small')
    await dialog.getByRole('textbox', { name: 'For' }).fill('group:nobody-yet')
    await dialog.getByRole('spinbutton', { name: 'Limit' }).fill('5')
    await dialog.getByLabel('Unit').fill('requests')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText("There is no group named 'nobody-yet'. Save again to set the limit all the same").waitFor()
    await expectFitting(page, 'limit-unknown-group')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await svc.host.limits.list()).toMatchObject([{ name: 'small', target: 'group:nobody-yet' }])
    await page.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByRole('textbox', { name: 'For' }).fill('user')
    await dialog.getByLabel('Counts').selectOption('now')
    await dialog.getByRole('button', { name: 'Simulate' }).click()
    await dialog.getByText(/recorded requests it would have refused/).waitFor()
    await expectFitting(page, 'limit-dialog')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('small', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Remove' }).first().click()
    await dialog.getByText('what was counted for it is lost').waitFor()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('There are no limits yet.').waitFor()

    await svc.host.limits.set({ name: 'house', for: 'installation', cap: 100, unit: 'tokens', per: 'day' })
    await showAdmin(page, 'limits')
    await page.getByText('house', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Top up' }).click()
    await dialog.getByLabel('Amount').fill('50')
    await dialog.getByRole('button', { name: 'Top up' }).click()
    await page.getByText(/^150 /).waitFor()
    await page.getByRole('button', { name: 'Edit' }).click()
    await expect.poll(() => dialog.getByRole('textbox', { name: 'For' }).inputValue()).toBe('installation')
    expect(await dialog.getByRole('spinbutton', { name: 'Limit' }).inputValue()).toBe('100')
    await dialog.getByRole('spinbutton', { name: 'Limit' }).fill('200')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText(/^250 /).waitFor()
    await svc.host.limits.set({
      name: 'each',
      for: 'user',
      cap: 2.5,
      unit: 'EUR',
      per: 'month',
      timeZone: 'Europe/Berlin',
    })
    await page.getByText('Person: each').first().waitFor()
    expect(await svc.host.limits.list()).toContainEqual(
      expect.objectContaining({ target: 'user', baseCap: 2_500_000, timeZone: 'Europe/Berlin', fromFile: false }),
    )
    await svc.rows("update usage_limits set from_file = true where name = 'each'")
    await showAdmin(page, 'limits')
    await page.getByText('It comes from the file of LIMITS').first().waitFor()
    await showAdmin(page, `people/${admin.id}`)
    await page.getByRole('table', { name: 'Limits' }).getByText('house').waitFor()
    await showAdmin(page, 'limits')
    await expectFitting(page, 'limits')
    await svc.host.limits.remove({ name: 'house' })
    await svc.rows("delete from usage_limits where name = 'each'")
  })

  test('a bill shows the use of people, groups and models, and is downloadable', async () => {
    await using admin = await openAdmin(svc, 'carl', { path: 'usage?by=user' })
    const { page } = admin
    await addUsage(admin.id)
    await showAdmin(page, 'usage?by=user')
    await page.getByRole('cell', { name: 'carl' }).waitFor()
    await page.getByLabel('Group by').selectOption('model')
    await page.getByRole('cell', { name: 'demo' }).waitFor()
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Download CSV' }).click(),
    ])
    expect(file.suggestedFilename()).toBe('Usage.csv')
    await expectFitting(page, 'usage')
  })

  test('a month is billed by group and person, and closed once it is over', async () => {
    await using admin = await openAdmin(svc, 'cleo', { path: 'bills?by=user' })
    const { page } = admin
    await addUsage(admin.id)
    await showAdmin(page, 'bills?by=user')
    await page.getByRole('cell', { name: 'cleo' }).waitFor()
    await expectFitting(page, 'bills')
    await page.getByRole('button', { name: 'Close month' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Close month' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await page.keyboard.press('Escape')
    await page.getByLabel('Month').fill('2026-01')
    await page.getByText('Nothing was used in this time.').waitFor()
    expect(page.url()).toMatch(/month=2026-01/)
  })

  test('an app is registered, its credential shown once, renewed, and the app removed', async () => {
    await using admin = await openAdmin(svc, 'dirk', { path: 'apps' })
    const { page } = admin
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Register app' }).click()
    await dialog.getByLabel('Name').fill('Portal')
    await dialog.getByRole('textbox', { name: 'Address', exact: true }).fill('https://portal.example.org')
    await dialog.getByLabel('Addresses to return to').fill('https://portal.example.org/back')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    const credential = page.locator('output[aria-label=Credential]')
    await credential.waitFor()
    const first = await credential.textContent()
    await page.getByRole('button', { name: 'New credential' }).click()
    await dialog.getByText('The old credential stops working at once').waitFor()
    await dialog.getByRole('button', { name: 'New credential' }).click()
    await expect.poll(() => credential.textContent()).not.toBe(first)
    await expectFitting(page, 'apps')
    await page.getByRole('button', { name: 'Remove' }).click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await page.getByText('No app is registered yet.').waitFor()
  })

  test('a prompt for a group is added, then offered to everybody, then removed', async () => {
    await svc.rows('delete from shared_prompts')
    await using admin = await openAdmin(svc, 'dina', { path: 'prompts' })
    const { page } = admin
    const dialog = page.getByRole('dialog')
    const press = (name: string) => dialog.getByRole('button', { name, exact: true }).click()
    const listOffered = () =>
      page.evaluate(async () => JSON.stringify(await (await fetch('/trpc/prompts.list')).json()))
    const listNames = async () =>
      (JSON.parse(await listOffered()).result.data.offered as { name: string }[]).map(({ name }) => name)
    await page.getByText('There are no prompts for groups or for everybody yet.').waitFor()
    await page.getByRole('button', { name: 'New prompt' }).click()
    await dialog.getByRole('textbox', { name: 'Name' }).fill(' ')
    await dialog.getByRole('textbox', { name: 'Text' }).fill('Explain.')
    await press('Add')
    await dialog.getByRole('alert').waitFor()
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Explain')
    await dialog.getByRole('textbox', { name: 'Text' }).fill('Explain {{topic}}.')
    await dialog.getByRole('textbox', { name: 'Groups' }).fill('staff, students')
    await dialog.getByText('{{topic}} asks for a value').waitFor()
    await dialog.getByRole('combobox', { name: 'Language' }).selectOption('German')
    await expectFitting(page, 'prompt-dialog')
    await press('Add')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('cell', { name: 'Explain', exact: true }).waitFor()
    await page.getByRole('cell', { name: 'staff, students' }).waitFor()
    await page.getByRole('cell', { name: 'German' }).waitFor()
    await expectFitting(page, 'prompts')
    expect(await listOffered()).not.toContain('Explain {{topic}}.')
    await svc.host.prompts.share({ name: 'Erklären', text: 'Erkläre {{Thema}}.', groups: [], locale: 'de_DE' })
    await svc.host.prompts.share({ name: 'A first one', text: 'Name it.', groups: [], locale: null })
    await svc.host.prompts.share({ name: 'Explain here', text: 'Explain it.', groups: [], locale: 'en_US' })
    await page.reload()
    await page.getByRole('cell', { name: 'Erklären' }).waitFor()
    expect(await listNames()).toEqual(['Explain here', 'A first one'])
    await svc.rows("delete from shared_prompts where name <> 'Explain'")
    await page.reload()
    await page.getByRole('button', { name: 'Edit' }).click()
    await dialog.getByRole('textbox', { name: 'Groups' }).fill('')
    await dialog.getByRole('textbox', { name: 'Text' }).fill('Explain {{topic}} shortly.')
    await dialog.getByRole('combobox', { name: 'Language' }).selectOption('All languages')
    await press('Save')
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('cell', { name: 'All languages' }).waitFor()
    expect(await listOffered()).toContain('Explain {{topic}} shortly.')
    expect(await svc.host.prompts.shared()).toMatchObject([{ groups: [], locale: null }])
    await page.getByRole('button', { name: 'Remove' }).click()
    await press('Remove')
    await page.getByText('There are no prompts for groups or for everybody yet.').waitFor()

    await showAdmin(page, 'audit?act=prompts.')
    const who = `The dina (u-${admin.id})`
    const acts = page.locator('td:nth-child(2) span', { hasText: who })
    await acts.nth(3).waitFor()
    expect((await acts.allTextContents()).map((text) => text.replace(/\d+\)?$/, 'n')).slice(0, 3)).toEqual([
      `${who} removed Explain (Prompt n`,
      `${who} changed Prompt n`,
      `${who} created Prompt n`,
    ])
  })

  test('an announcement is published, and shown with how many have accepted it', async () => {
    await using admin = await openAdmin(svc, 'eddi', { path: 'announcements' })
    const { page } = admin
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Publish' }).click()
    await dialog.getByLabel('Title').fill('A pause')
    await dialog.getByLabel('Or the folder of its texts').fill('nowhere')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/view has no text/)
      .waitFor()
    await dialog.getByLabel('Or the folder of its texts').fill('pause')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('A pause').waitFor()
    await expectFitting(page, 'announcements')
  })

  test('an announcement is written in the browser, and says who has accepted it', async () => {
    await using admin = await openAdmin(svc, 'edda', { path: 'announcements' })
    const { page } = admin
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Publish' }).click()
    await dialog.getByLabel('Title').fill('Written here')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/texts must be given/)
      .waitFor()
    await dialog.getByRole('textbox', { name: 'Text in German' }).fill('Am **Sonntag** ist Pause.')
    await dialog.getByRole('textbox', { name: 'Text in English' }).fill('We rest on **Sunday**.')
    await dialog.getByRole('region', { name: 'Preview: Text in English' }).locator('strong').waitFor()
    await expectFitting(page, 'announcement-dialog')
    await dialog.getByRole('button', { name: 'Publish' }).click()
    await dialog.waitFor({ state: 'detached' })
    await svc.rows(
      `insert into announcement_receipts (announcement_id, user_id, accepted_at)
       select id, $1, now() from announcements where title = 'Written here'`,
      [admin.id],
    )
    await page.getByRole('link', { name: 'Written here' }).click()
    await page.getByRole('link', { name: 'edda' }).waitFor()
    await page.getByRole('button', { name: 'Edit texts' }).click()
    await dialog.getByRole('textbox', { name: 'Text in English' }).fill('We rest on **Monday**.')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.locator('[lang=en] strong', { hasText: 'Monday' }).waitFor()
    await page.locator('[lang=de] strong', { hasText: 'Sonntag' }).waitFor()
    await expectFitting(page, 'announcement')

    await svc.rows("update announcements set is_forced = true where title = 'Written here'")
    await page.reload()
    await page.getByText('People have accepted this text').waitFor()
    expect(await page.getByRole('button', { name: 'Edit texts' }).count()).toBe(0)
    const refused = await page.evaluate(async (id) => {
      const body = JSON.stringify({ id, texts: { en_US: 'Other' } })
      const headers = { 'content-type': 'application/json' }
      return (await fetch('/trpc/announcements.changeTexts', { method: 'POST', headers, body })).status
    }, page.url().split('/').at(-1))
    expect(refused).toBe(409)
    await svc.rows("delete from announcements where title = 'Written here'")
  })

  test('a tool is approved as it is offered now, beside what was approved before', async () => {
    await using server = await startToolServer([buildTool('echo')])
    await using admin = await openAdmin(svc, 'fritz', { path: 'tools' })
    const { page } = admin
    const dialog = page.getByRole('dialog')
    await page.getByRole('button', { name: 'Add server' }).click()
    await dialog.getByLabel('Name').fill('foe')
    await dialog.getByLabel('Address').fill(server.url)
    await dialog.getByLabel('Prompts').check()
    await dialog.getByRole('button', { name: 'Add', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Read the tools' }).click()
    await page.getByText('foe_echo').waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByText('Nothing is approved yet.').waitFor()
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('table', { name: 'Tools' }).getByText('Approved', { exact: true }).waitFor()

    await page.getByRole('button', { name: 'Try' }).click()
    await dialog.getByLabel('Input (JSON)').fill('{"text": "Hello"')
    await dialog.getByRole('button', { name: 'Try' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/no valid JSON|not valid JSON/)
      .waitFor()
    await dialog.getByLabel('Input (JSON)').fill('{"text": "Hello"}')
    await dialog.getByRole('button', { name: 'Try' }).click()
    await dialog.getByText('It answered').waitFor()
    await expectFitting(page, 'try-tool')
    await expect
      .poll(() =>
        svc.rows("select outcome, subject, change like '%Hello%' as told from audit_entries where act = 'mcp.tryTool'"),
      )
      .toEqual([{ outcome: 'ok', subject: 'ai-tools:foe_echo', told: false }])
    await dialog.getByRole('button', { name: 'Cancel' }).click()

    server.tools = [buildTool('echo', { description: 'Sends everything away.' })]
    await page.getByRole('button', { name: 'Read the tools' }).click()
    await page.getByRole('table', { name: 'Tools' }).getByText('Changed since approval').waitFor()
    await page.getByRole('button', { name: 'Approve' }).click()
    await dialog
      .getByRole('region', { name: 'Offered now' })
      .locator('mark', { hasText: 'Sends everything away.' })
      .waitFor()
    await dialog.getByRole('region', { name: 'Approved' }).locator('mark', { hasText: 'Does echo.' }).waitFor()
    await expectFitting(page, 'approve')
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => page.getByRole('button', { name: 'Approve' }).count()).toBe(0)

    for (const table of ['Tool servers', 'Tools']) {
      await page.getByRole('table', { name: table }).getByRole('button', { name: 'Who may use it' }).click()
      await dialog.getByLabel('Groups').fill('staff, board')
      if (table === 'Tool servers') await dialog.getByLabel('Open to programs').uncheck()
      await expectFitting(page, `who-may-${table}`)
      await dialog.getByRole('button', { name: 'Save' }).click()
      await dialog.waitFor({ state: 'detached' })
      await page.getByRole('table', { name: table }).getByText('staff, board').waitFor()
    }
    expect(
      await svc.rows('select s.groups as server, s.gateway, t.groups as tool from mcp_servers s, ai_tools t'),
    ).toEqual([{ server: ['staff', 'board'], gateway: false, tool: ['staff', 'board'] }])

    await page.getByRole('table', { name: 'Tool servers' }).getByRole('button', { name: 'free' }).click()
    await dialog.getByLabel('Price of a call').fill('much')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('must be a price such as 0.005 EUR').waitFor()
    await dialog.getByLabel('Price of a call').fill('0.005 EUR')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByRole('table', { name: 'Tool servers' }).getByText('0.005 EUR').waitFor()

    await showAdmin(page, 'models')
    await page.getByRole('link', { name: 'Demo (not an AI)' }).click()
    await page.getByRole('button', { name: 'Tools' }).click()
    await dialog.getByLabel('foe_echo').check()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await svc.rows('select count(*)::int as links from ai_model_tools')).toEqual([{ links: 1 }])

    server.prompts = [{ name: 'Book review', description: 'Reviews a book.' }]
    await showAdmin(page, 'tools')
    await page.getByRole('button', { name: 'Read the tools' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByText('Models do not see it.').waitFor()
    await dialog.getByText('The server knows it as Book review.').waitFor()
    expect(await dialog.getByText('Models may call it').count()).toBe(0)
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await dialog.waitFor({ state: 'detached' })
    await expect.poll(() => page.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  })

  test('the audit log says in both languages who changed what, with links', async () => {
    await using admin = await openAdmin(svc, 'grace', { path: 'audit' })
    const { page } = admin
    const [model] = await svc.rows<{ id: number }>(`select id from ai_models where model_id = 'demo'`)
    const { id: other } = await addAccount(svc, 'hopper')
    const price = (cost: number) => ({
      pricing: { ranges: [{ currency: 'EUR', inputCostPerToken: cost, outputCostPerToken: cost * 2 }] },
    })
    const entries = [
      ['aiModels.update', `ai-models:${model?.id}`, { before: price(0.000_001), after: price(0.000_002) }],
      ['admin.setRole', `user:${other}`, { before: { role: 'user' }, after: { role: 'admin' } }],
      ['aiProviders.update', 'ai-providers:99999', { before: { apiKey: 'changed' }, after: { apiKey: 'changed' } }],
      ['extension.brew', `user:${other}`, { input: { cups: 2 } }],
    ] as const
    for (const [act, subject, change] of entries)
      await svc.rows(`insert into audit_entries (act, outcome, actor, subject, change) values ($1, 'ok', $2, $3, $4)`, [
        act,
        `user:${admin.id}`,
        subject,
        JSON.stringify(change),
      ])
    await svc.rows(
      "insert into audit_entries (act, outcome, actor, subject) values ('admin.setRole', 'fresh_login_needed', $1, $2)",
      [`user:${admin.id}`, `user:${other}`],
    )
    await showAdmin(page, `audit?actor=${encodeURIComponent(`user:${admin.id}`)}`)
    const sentences = page.locator('td:nth-child(2) span')
    const who = `The grace (u-${admin.id})`

    await expect
      .poll(() => sentences.allTextContents())
      .toEqual(
        expect.arrayContaining([
          `${who} changed demo (Model ${model?.id}): price from €1.00 / €2.00 to €2.00 / €4.00`,
          `${who} changed The hopper (u-${other}): role from Person to Administrator`,
          `${who} changed Provider 99999: key`,
          `${who} called extension.brew on The hopper (u-${other})`,
          `${who} was refused admin.setRole on The hopper (u-${other}) (Sign-in too long ago)`,
        ]),
      )
    await page.getByTitle('fresh_login_needed').getByText('Sign-in too long ago').waitFor()
    await expectFitting(page, 'audit')
    await page.getByLabel('Action', { exact: true }).selectOption({ label: 'Models' })
    await expect.poll(() => sentences.count()).toBe(1)
    await sentences.getByRole('link', { name: /^demo/ }).click()
    await waitForAddress(page, new RegExp(`/admin/models/${model?.id}$`))

    await using german = await openAdmin(svc, 'lise', { path: 'audit?act=aiModels.update', locale: 'de-DE' })
    await german.page
      .locator('td:nth-child(2) span', { hasText: `${who} hat demo (Modell ${model?.id}) geändert: Preis von` })
      .waitFor()
    await expectFitting(german.page, 'audit-de')
    await showAdmin(german.page, `audit?actor=${encodeURIComponent(`user:${admin.id}`)}`)
    await german.page.getByTitle('fresh_login_needed').getByText('Anmeldung zu lange her').waitFor()
  })

  test('an entry of the audit log leads to the row it names', async () => {
    await using admin = await openAdmin(svc, 'margaret', { path: 'audit' })
    const { page } = admin
    for (const name of ['Portal', 'Library'])
      await svc.host.extApps.create({ name, url: 'https://a.example', redirectUrls: ['https://a.example'] })
    await svc.host.limits.set({ name: '2026', for: 'installation', cap: 1e9, unit: 'tokens', per: 'day' })
    await svc.host.limits.set({ name: 'other', for: 'installation', cap: 1e9, unit: 'tokens', per: 'day' })
    const [app] = await svc.rows<{ id: number }>("select id from ext_apps where name = 'Portal'")
    const insert = 'insert into audit_entries (act, outcome, actor, subject, change) values ($1, $2, $3, $4, $5)'
    const actor = `user:${admin.id}`
    await svc.rows(insert, ['extApps.update', 'ok', actor, `ext-apps:${app?.id}`, null])
    await svc.rows(insert, ['limits.set', 'ok', actor, null, JSON.stringify({ limit: '2026' })])

    const follow = async (name: RegExp) => {
      await showAdmin(page, `audit?actor=${encodeURIComponent(actor)}`)
      await page.getByRole('table').getByRole('link', { name }).click()
      await waitForAddress(page, /\/admin\/(?!audit)/)
    }
    const listNames = () => page.locator('main tbody tr strong').allTextContents()
    await follow(/Portal/)
    await expect.poll(listNames).toEqual(['Portal'])
    await follow(/2026/)
    await expect.poll(listNames).toEqual(['2026'])
  })

  test('settings are read with their value and source, and no secret among them', async () => {
    await using admin = await openAdmin(svc, 'felix', { path: 'settings?q=ANNOUNCEMENTS' })
    const { page } = admin
    await page.getByText('ANNOUNCEMENTS').first().waitFor()
    await page.getByText(folder).waitFor()
    await showAdmin(page, 'settings')
    await expectFitting(page, 'settings')
  })

  test('storage is counted by kind and verified, and retention has a preview', async () => {
    await using admin = await openAdmin(svc, 'fanny', { path: 'settings' })
    const { page } = admin
    await svc.rows(
      `insert into attachments (uuid, uploader_id, name, mime, file_type, bytes, client_encrypted, sealed_key, text_state, created_at, updated_at)
       values ($2, $1, 'lost.pdf', 'application/pdf', 'document', 3000000, false, 'sealed', 'none', now() - interval '3 years', now())`,
      [admin.id, randomUUID()],
    )
    await showAdmin(page, 'settings')
    await page.getByRole('table', { name: 'Files by kind' }).getByText('Documents').waitFor()
    await page.getByRole('button', { name: 'Verify files' }).click()
    await page
      .getByRole('table', { name: 'What was found' })
      .getByText(/The file is missing|No key opens it/)
      .first()
      .waitFor()
    await page.getByText('No file would be deleted.').waitFor()
    await page.getByLabel('Months for which files would be kept').fill('24')
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.getByRole('table', { name: 'Past their retention' }).waitFor()
    await expectFitting(page, 'storage')
    await svc.rows('delete from attachments')
  })

  test('a person is invited by a link that appears once and can be revoked', async () => {
    await using admin = await openAdmin(svc, 'gerd')
    const { page } = admin
    const dialog = page.getByRole('dialog')
    const fill = async () => {
      await page.getByRole('button', { name: 'Invite' }).click()
      await dialog.getByRole('textbox', { name: 'Username' }).fill('guest')
      await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('A guest')
      await dialog.getByRole('textbox', { name: 'E-mail address' }).fill('guest@example.org')
    }
    await fill()
    await dialog.getByRole('button', { name: 'Invite' }).click()
    const link = page.locator('output[aria-label=Link]')
    await link.waitFor()
    expect(await link.textContent()).toMatch(/^http/)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Close' }).click()
    await fill()
    await dialog.getByRole('button', { name: 'Withdraw' }).click()
    await page.getByRole('dialog', { name: 'Withdraw' }).getByRole('button', { name: 'Withdraw' }).click()
    await expect.poll(() => page.getByText('Open invitations').count()).toBe(0)
  })

  test('why a person cannot ask a model is explained', async () => {
    await using admin = await openAdmin(svc, 'heidi')
    const { page } = admin
    const { id } = await addAccount(svc, 'iris')
    await svc.changeCatalogue("update ai_models set groups = '{staff}' where model_id = 'demo'")
    await showAdmin(page, `people/${id}`)
    await page.getByRole('button', { name: 'Find out' }).click()
    await page.getByRole('status').getByText('No', { exact: true }).first().waitFor()
    await page.getByText('Only people in these groups may use it: staff.').first().waitFor()
    await expectAccessible(page)

    await using german = await openAdmin(svc, 'ilse', { path: `people/${id}`, locale: 'de-DE' })
    await german.page.getByRole('button', { name: 'Herausfinden' }).click()
    await german.page.getByText('Nur Personen in diesen Gruppen dürfen es benutzen: staff.').first().waitFor()
    await svc.changeCatalogue("update ai_models set groups = '{}' where model_id = 'demo'")
  })

  test('the button shows that an explanation is awaited, and takes no second press', async () => {
    await using admin = await openAdmin(svc, 'hilda')
    const { page, requests } = admin
    const { promise: wait, resolve: release } = Promise.withResolvers<void>()
    const models = Promise.withResolvers<void>()
    await page.route(/aiModels\.list/, (route) => models.promise.then(() => route.continue()))
    await page.goto(`/admin/people/${admin.id}`)
    await page.getByRole('heading', { name: 'Limits', exact: true }).waitFor()
    expect(await page.getByRole('button', { name: 'Find out' }).count()).toBe(0)
    models.resolve()
    await page.route(/models[./]explain/, (route) => wait.then(() => route.continue()))
    await page.getByRole('button', { name: 'Find out' }).click()
    await page.getByRole('button', { name: 'Working …', disabled: true }).click({ force: true })
    release()
    await page
      .getByRole('status')
      .getByText(/^(Yes|No)$/)
      .first()
      .waitFor()
    await page.getByRole('button', { name: 'Find out' }).waitFor()
    expect(requests.filter(({ url }) => url.includes('explain'))).toHaveLength(1)
  })

  test('the pages of operation fit in German, narrow and wide, in both schemes', async () => {
    await using admin = await openAdmin(svc, 'ingo', { locale: 'de-DE' })
    for (const path of ['overview', 'tools', 'limits', 'usage', 'bills', 'apps', 'announcements', 'settings']) {
      await showAdmin(admin.page, path)
      await expectFitting(admin.page, `${path}-de`)
    }
  })
})
