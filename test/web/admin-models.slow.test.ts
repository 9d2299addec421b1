import { expect, test } from 'vitest'
import { describeAdminInputs } from '../../facades/web/admin-inputs.ts'
import { startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { expectFitting, openAdmin, showAdmin, waitForAdmin } from '../kit/web/admin.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForAddress } from '../kit/web/pages.ts'

const svc = shareResource(() => startApp({}))

describeWith('chromium')('models in the administration', () => {
  test('five hundred models are searched, chosen and ordered in pages of fifty', async () => {
    await using own = await startApp({})
    await own.rows(
      `insert into ai_models (provider_id, model_id, label, model_type, input, output, status, demand, flags, native_capabilities, fallback, active, created_at, updated_at)
       select (select min(id) from ai_providers), 'many-' || n, 'Many ' || n, 'chat', '{text}', '{text}', 'unknown', 'low', '{}', '{}', '{}', n % 2 = 0, now(), now()
         from generate_series(1, 500) n`,
    )
    await using admin = await openAdmin(own, 'adam', { path: 'models' })
    const { page, complaints } = admin
    const rows = page.getByRole('table', { name: 'Models' }).locator('tbody tr')
    await expect.poll(() => rows.count()).toBe(50)
    await page.getByText('501 entries').waitFor()
    await page.getByLabel('State').selectOption('off')
    await page.getByText('250 entries').waitFor()
    await page.getByRole('columnheader', { name: 'Model' }).getByRole('button').click()
    await waitForAddress(page, /sort=label/)
    await page.getByRole('searchbox', { name: 'Name of a model' }).fill('many-48')
    await expect.poll(() => rows.count()).toBe(5)
    expect(complaints).toEqual([])
  })

  test('a provider and a model are added, configured, tried and removed', async () => {
    await using provider = await startProvider()
    await using admin = await openAdmin(svc, 'bella', { path: 'providers' })
    const { page } = admin
    const dialog = page.getByRole('dialog')
    const save = async (name = 'Save') => {
      await expectAccessible(page)
      await dialog.getByRole('button', { name, exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
    }

    await page.getByRole('button', { name: 'Add provider' }).click()
    await dialog.getByRole('textbox', { name: 'Name', exact: true }).fill('House')
    await dialog.getByLabel('Name in the configuration').fill('house')
    await dialog.getByRole('textbox', { name: 'Address' }).fill(`${provider.url}`)
    await dialog.getByLabel('Key').fill('very-secret')
    await save('Add')
    await page.getByRole('link', { name: 'House' }).click()
    await page.getByText('Is set').waitFor()
    expect(await page.content()).not.toContain('very-secret')
    await page.getByText('Off', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Test and pick models' }).click()
    await dialog.getByRole('checkbox', { name: 'mock-1' }).check()
    await expectFitting(page, 'pick-models')
    await save('Add')
    await page.getByRole('link', { name: 'mock-1' }).waitFor()
    expect(await svc.rows("select active from ai_models where model_id = 'mock-1'")).toEqual([{ active: false }])
    await page.getByRole('button', { name: 'Switch on' }).click()
    await save('Switch on')
    await page.getByRole('button', { name: 'Switch off' }).waitFor()

    await showAdmin(page, 'models')
    await page.getByRole('button', { name: 'Add model' }).click()
    await dialog.getByLabel('Provider').selectOption({ label: 'House' })
    await dialog.getByLabel('Name in requests').fill('llama')
    await dialog.getByLabel('Label').fill('Llama')
    await save('Add')
    await page.getByRole('link', { name: 'Llama', exact: true }).click()
    await page.getByRole('heading', { name: 'Llama' }).waitFor()
    await waitForAdmin(page)

    await page.getByRole('button', { name: 'Prices' }).click()
    await dialog.getByLabel('By number of tokens').check()
    await dialog.getByRole('spinbutton', { name: 'Input', exact: true }).fill('0.5')
    await dialog.getByRole('spinbutton', { name: 'Output' }).fill('1.5')
    await dialog.getByRole('button', { name: 'Add step' }).click()
    const step = dialog.getByRole('group', { name: 'Longer input' })
    await step.getByRole('spinbutton', { name: 'From input tokens' }).fill('100000')
    await step.getByRole('spinbutton', { name: 'Input', exact: true }).fill('1')
    await expectFitting(page, 'prices')
    await save()
    await page.getByText('€0.50 / €1.50').waitFor()
    const [{ pricing } = { pricing: {} }] = await svc.rows<{ pricing: object }>(
      "select pricing from ai_models where model_id = 'llama'",
    )
    expect(pricing).toMatchObject({
      ranges: [
        { range: [0, 100_000], inputCostPerToken: 0.5e-6, outputCostPerToken: 1.5e-6 },
        { range: [100_000, null], inputCostPerToken: 1e-6, outputCostPerToken: null },
      ],
    })

    await page.getByRole('button', { name: 'Who may use it' }).click()
    await dialog.getByLabel('Programs').check()
    await dialog.getByLabel('Groups').fill('staff, council')
    await save()
    await page.getByText('Front end, Programs').waitFor()
    await page.getByText('staff, council').waitFor()

    await page.getByRole('button', { name: 'Edit text: Deutsch' }).click()
    await dialog.getByRole('textbox', { name: 'Text (Markdown)' }).fill('Ein **kleines** Modell')
    await dialog.getByRole('region', { name: 'Preview' }).locator('strong', { hasText: 'kleines' }).waitFor()
    await save()
    await page.getByRole('button', { name: 'Edit text: English' }).click()
    await dialog.getByRole('textbox', { name: 'Text (Markdown)' }).fill('A small model')
    await save()
    await page.getByText('A small model').waitFor()
    await page.locator('[lang=de] strong').waitFor()

    expect(await svc.rows("select active from ai_models where model_id = 'llama'")).toEqual([{ active: false }])
    await page.getByRole('button', { name: 'Switch on' }).click()
    await save('Switch on')
    await page.getByRole('button', { name: 'Switch off' }).waitFor()
    await page.getByRole('button', { name: 'Ask' }).click()
    await page.getByRole('status').locator('.markdown').waitFor()
    await expectFitting(page, 'model')

    await page.getByRole('button', { name: 'Switch off' }).click()
    await dialog.getByText('Nobody can ask it any more').waitFor()
    await save('Switch off')
    await page.getByRole('button', { name: 'Switch on' }).waitFor()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await save('Remove')
    await waitForAddress(page, /\/admin\/models$/)
    expect(await svc.rows("select id from ai_models where model_id = 'llama'")).toEqual([])
  })

  test('what somebody else changed meanwhile is not overwritten', async () => {
    await using admin = await openAdmin(svc, 'cora', { path: 'models' })
    const { page } = admin
    await page.getByRole('link', { name: 'Demo (not an AI)' }).click()
    await page.getByRole('button', { name: 'Parameters' }).click()
    await page.evaluate(async (id) => {
      const headers = { 'content-type': 'application/json' }
      await fetch('/trpc/aiModels.update', { method: 'POST', headers, body: JSON.stringify({ id, label: 'Other' }) })
    }, page.url().split('/').at(-1))
    // The page behind the dialog shows the change, which the dialog does not know.
    await page.locator('main h2', { hasText: 'Other' }).waitFor()
    await page.getByRole('dialog').getByLabel('Input tokens at most').fill('100')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    await svc.rows("update ai_models set label = 'Demo (not an AI)' where model_id = 'demo'")
  })

  test('the tools of a model cannot be saved while their list cannot be read', async () => {
    await using admin = await openAdmin(svc, 'cleo', { path: 'models' })
    const { page } = admin
    await page.route('**/trpc/*aiTools.list*', (route) => route.fulfill({ status: 500, body: '{}' }))
    await page.getByRole('link', { name: 'Demo (not an AI)' }).click()
    await page.getByRole('button', { name: 'Tools', exact: true }).click()
    await page.getByRole('dialog').getByRole('alert').waitFor()
    expect(await page.getByRole('dialog').getByRole('button', { name: 'Save' }).count()).toBe(0)
  })

  test('a bad parameter is refused with its reason, and what was typed stays', async () => {
    await using admin = await openAdmin(svc, 'dana', { path: 'models' })
    const { page } = admin
    await page.getByRole('link', { name: 'Demo (not an AI)' }).click()
    await page.getByRole('button', { name: 'Parameters' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Settings (JSON)').fill('{"toolCalling": "often"}')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/toolCalling/)
      .waitFor()
    await dialog.getByLabel('Settings (JSON)').fill('{"toolCalling": ')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog
      .getByRole('alert')
      .getByText(/not valid JSON/)
      .waitFor()
    expect(await dialog.getByLabel('Settings (JSON)').inputValue()).toBe('{"toolCalling": ')
  })

  test('models, providers and tasks fit, narrow and wide, in both schemes and in German', async () => {
    await using admin = await openAdmin(svc, 'elsa', { path: 'models', locale: 'de-DE' })
    for (const path of ['models', 'providers', 'tasks']) {
      await showAdmin(admin.page, path)
      await expectFitting(admin.page, path)
    }
    await svc.rows("delete from system_models where model_type = 'summary'")
    await admin.page.getByRole('button', { name: 'Aufgabe anlegen' }).click()
    const dialog = admin.page.getByRole('dialog')
    await dialog.getByLabel('Aufgabe').fill('summary')
    await dialog.getByLabel('Modell').selectOption({ index: 0 })
    await dialog.getByRole('button', { name: 'Anlegen', exact: true }).click()
    await admin.page.getByRole('cell', { name: 'Chats zusammenfassen' }).waitFor()
    expect(await svc.rows("select usage_type from system_models where model_type = 'summary'")).toHaveLength(1)
  })

  test('every writable attribute of models and providers is in a form', async () => {
    await using admin = await openAdmin(svc, 'fiona', { path: 'models' })
    const { page } = admin
    const dialog = page.getByRole('dialog')
    const listMembers = async (buttons: string[]) => {
      const members: string[] = []
      for (const name of buttons) {
        await page.getByRole('button', { name, exact: true }).click()
        await dialog.locator('input[name=shown]').first().waitFor({ state: 'attached' })
        const shown = await dialog.locator('input[name=shown]').all()
        members.push(...(await Promise.all(shown.map((field) => field.inputValue()))))
        await page.keyboard.press('Escape')
        await dialog.waitFor({ state: 'detached' })
      }
      return members
    }
    const inputs = describeAdminInputs()
    const omit = (path: string, names: string[]) =>
      Object.keys(inputs[path] ?? {}).filter((name) => ![...names, 'id', 'ifVersion'].includes(name))

    await page.getByRole('link', { name: 'Demo (not an AI)' }).click()
    const ofModel = await listMembers(['Edit', 'Who may use it', 'Parameters'])
    await page.getByRole('link', { name: 'Demo', exact: true }).click()
    await page.getByRole('button', { name: 'Set key' }).waitFor()
    const ofProvider = await listMembers(['Edit'])

    // Prices, tools, servers and the switch have controls of their own, and a model stays with its provider.
    expect(ofModel.sort()).toEqual(omit('aiModels.update', ['active', 'pricing', 'provider', 'tools']).sort())
    expect(ofProvider.sort()).toEqual(omit('aiProviders.update', ['active', 'servers']).sort())
  })

  test('an attribute without a label shows its name and its declared description', async () => {
    await using admin = await openAdmin(svc, 'gerda', { path: 'models', locale: 'de-DE' })
    const { page } = admin
    await page.route('**/assets/labels/*', async (route) => {
      const response = await route.fetch()
      const { 'app.field.position': _, ...labels } = (await response.json()) as Record<string, string>
      await route.fulfill({ response, json: labels })
    })
    await showAdmin(page, 'models')
    await page.getByRole('link', { name: 'Demo (not an AI)' }).click()
    await page.getByRole('button', { name: 'Bearbeiten', exact: true }).click()
    const field = page.getByRole('dialog').getByRole('spinbutton', { name: 'Position' })
    await field.waitFor()

    expect(await field.evaluate((element) => element.closest('[lang]')?.getAttribute('lang'))).toBe('en')
    await page
      .getByRole('dialog')
      .getByText(/^The position in lists of models/)
      .waitFor()
  })

  test('values owned by the file show their line and are read-only', async () => {
    await using provider = await startProvider()
    await using config = await writeConfig(provider.url)
    const models = [
      { id: 'llama', label: 'Llama', external: true, groups: ['staff'], descriptions: { en_US: 'Small.' } },
    ]
    await config.write({
      providers: [{ id: 'house', name: 'House', adapter: 'openai-compatible', apiUrl: provider.url, models }],
      systemModels: { default: 'llama' },
    })
    await using own = await startApp({ AI_CONFIG: config.file })
    await using admin = await openAdmin(own, 'cora', { path: 'models' })
    const { page, complaints } = admin
    const dialog = page.getByRole('dialog')
    await page.getByRole('link', { name: 'Llama', exact: true }).click()
    await page.getByText(/line \d+: change or remove it there/).waitFor()
    await expectFitting(page, 'model-of-file')
    expect(await page.getByRole('button', { name: 'Remove' }).count()).toBe(0)
    expect(await page.getByRole('button', { name: /Edit text/ }).count()).toBe(0)

    await page.getByRole('button', { name: 'Who may use it' }).click()
    await dialog
      .getByText(/Line \d+ of the file sets this/)
      .first()
      .waitFor()
    expect(await dialog.getByLabel('Groups').isDisabled()).toBe(true)
    await expectFitting(page, 'owned')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    expect(await dialog.getByLabel('Label').isDisabled()).toBe(true)
    await dialog.getByLabel('Place').fill('3')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await own.rows('select label, position, groups from ai_models')).toEqual([
      { label: 'Llama', position: 3, groups: ['staff'] },
    ])

    await showAdmin(page, 'tasks')
    await page.getByText(/Line \d+ of the file sets this/).waitFor()
    await showAdmin(page, 'providers')
    await page.getByRole('link', { name: 'House' }).click()
    await page.getByText(/line \d+: change or remove it there/).waitFor()
    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    expect(await dialog.getByLabel('Address').isDisabled()).toBe(true)
    await page.keyboard.press('Escape')
    expect(complaints).toEqual([])
  })

  test('a provider gets a further server, which is tested alone', async () => {
    await using provider = await startProvider()
    await svc.rows(
      `insert into ai_providers (provider_id, adapter, name, api_url) values ('alone', 'openai-compatible', 'Alone', $1)`,
      [provider.url],
    )
    await svc.changeCatalogue(
      `insert into ai_models (provider_id, model_id, label) select id, 'solo', 'Solo' from ai_providers where provider_id = 'alone'`,
    )
    await using admin = await openAdmin(svc, 'dina', { path: 'providers' })
    const { page } = admin
    const dialog = page.getByRole('dialog')
    await page.getByRole('link', { name: 'Alone' }).click()
    for (const address of ['https://one.example.org/v1', 'https://two.example.org/v1']) {
      await page.getByRole('button', { name: 'Add server' }).click()
      await dialog.getByLabel('Address').fill(address)
      await dialog.getByLabel('Key').fill(`key of ${address}`)
      await dialog.getByRole('button', { name: 'Add', exact: true }).click()
      await dialog.waitFor({ state: 'detached' })
    }
    const keys = () => svc.rows<{ api_key: string }>('select api_url, api_key from provider_servers order by id')
    const [, second] = await keys()
    await page
      .getByRole('row', { name: /one.example.org/ })
      .getByRole('button', { name: 'Remove' })
      .click()
    await dialog.getByRole('button', { name: 'Remove' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect(await keys()).toEqual([second])
    await expectFitting(page, 'provider')

    await page.getByRole('button', { name: 'Test call' }).click()
    await page.getByText(/Its one model answers|These do not answer: solo/).waitFor()
  })
})
