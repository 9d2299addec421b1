import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForFocus } from '../kit/web/pages.ts'

const buildModels = (name: string, count: number, more: object = {}) =>
  Array.from({ length: count }, (_, index) => ({
    id: `${name.toLowerCase()}-${index + 1}`,
    label: `${name} ${String(index + 1).padStart(2, '0')}`,
    external: true,
    ...more,
  }))

/** A picture of one dot. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describeWith('chromium')('the models of a chat', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let config: Awaited<ReturnType<typeof writeConfig>>

  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const shared = { adapter: 'openai-compatible', apiUrl: upstream.url, apiKey: 'provider-key' }
    config = resources.use(
      await writeConfig(upstream.url, {
        more: {
          providers: [
            {
              ...shared,
              id: 'north',
              name: 'North',
              models: buildModels('Aspen', 31, { settings: { thinking: ['off', 'high'] } }),
            },
            {
              ...shared,
              id: 'south',
              name: 'South',
              models: buildModels('Birch', 31, {
                input: ['text', 'image', 'audio'],
                limits: { maxInputTokens: 128_000 },
              }),
            },
          ],
          systemModels: { default: 'birch-7' },
        },
      }),
    )
    svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  })
  beforeEach(() => {
    upstream.behave = answers('Aye.')
  })
  afterAll(() => resources.disposeAsync())

  const model = () => upstream.requests.at(-1)?.body.model

  test('a first chat begins with the default model, later ones with the last', async () => {
    await using chat = await openChat(svc, 'ada')
    const { page } = chat
    await page.getByRole('combobox', { name: 'Model: Birch 07' }).waitFor()
    await chat.sendQuestion('Hello')
    await page.getByText('Aye.').waitFor()
    await chat.answered()
    expect(model()).toBe('birch-7')

    await svc.rows(
      `update system_models set model_id = (select id from ai_models where model_id = 'aspen-1') where model_type = 'default'`,
    )
    // The picker is opened before the models are there.
    const list = Promise.withResolvers<void>()
    await page.route(/assistants\.list/, (route) => list.promise.then(() => route.continue()))
    await page.goto('/chat')
    await page.getByRole('combobox', { name: /^Model: / }).click()
    list.resolve()
    await page.getByRole('combobox', { name: 'Search models' }).fill('aspen 31')
    await page.keyboard.press('Enter')
    await page.getByRole('combobox', { name: 'Model: Aspen 31' }).waitFor()
    await page.reload()
    await page.getByRole('combobox', { name: 'Model: Aspen 31' }).waitFor()
    await svc.rows(
      `update system_models set model_id = (select id from ai_models where model_id = 'birch-7') where model_type = 'default'`,
    )
  })

  test('a picture of a temporary chat reaches a model that sees, and goes on', async () => {
    await using chat = await openChat(svc, 'pia')
    const { page } = chat
    const picture = Buffer.from('89504e470d0a1a0a0000000d', 'hex')
    const sent = () => JSON.stringify(upstream.requests.at(-1)?.body.messages)
    await page.getByRole('button', { name: 'Temporary chat' }).click()
    await page.locator('input[type=file]').first().setInputFiles({ name: 'nut.png', mimeType: '', buffer: picture })
    await page.getByText('Ready to send').waitFor()
    await chat.sendQuestion('What is it?')
    await page.getByText('Aye.').waitFor()
    await chat.answered()
    expect(sent()).toContain(`data:image/png;base64,${picture.toString('base64')}`)
    upstream.requests.length = 0
    await page.getByRole('button', { name: 'Edit question' }).click()
    await page.getByRole('textbox', { name: 'Edit question' }).fill('And now?')
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('2 of 2').waitFor()
    await chat.answered()
    expect(sent()).toContain('And now?')
    expect(sent()).toContain(`data:image/png;base64,${picture.toString('base64')}`)
  })

  test('the list groups models by provider, after the favourites and the last used', async () => {
    await using chat = await openChat(svc, 'ben')
    const { page } = chat
    const open = () => page.getByRole('combobox', { name: /^Model:/ }).click()
    await open()
    const south = page.getByRole('group', { name: 'South' })
    await south.getByRole('option').first().waitFor()
    expect(await page.getByRole('group', { name: 'North' }).getByRole('option').count()).toBe(31)
    expect(await south.getByRole('option', { name: /^Birch 07/ }).textContent()).toContain('Default')
    expect(await south.getByRole('option').first().textContent()).toContain(
      'reads 128K tokens · sees pictures · hears audio',
    )
    await expectAccessible(page)
    const search = page.getByRole('combobox', { name: 'Search models' })
    await search.fill('birch 03')
    await search.press('*')
    await page.getByRole('option', { name: /^Birch 03.*Favourite/ }).waitFor()
    await search.fill('')
    const aspen = page.getByRole('option', { name: /^Aspen 02/ })
    await aspen.hover()
    await aspen.getByTitle('Mark or unmark as a favourite').click()
    await search.press('Escape')

    await open()

    const favourites = page.getByRole('group', { name: 'Favourites' }).getByRole('option')
    await expect.poll(() => favourites.count()).toBe(2)
    expect(await favourites.first().textContent()).toMatch(/^Aspen 02.*North/)
    await favourites.last().click()
    await page.getByRole('combobox', { name: 'Model: Birch 03' }).waitFor()
    await page.reload()
    await open()
    await page
      .getByRole('group', { name: 'Favourites' })
      .getByRole('option', { name: /^Birch 03/ })
      .waitFor()
  })

  test('a model that ends soon says when, and leads to its successor', async () => {
    await using chat = await openChat(svc, 'gil')
    const { page } = chat
    const end = (when: string, more: string) =>
      svc.changeCatalogue(
        `update ai_models set deprecation_date = now() + interval '${when}', ${more} where model_id = 'birch-7'`,
      )
    await end('70 days', "successor = 'aspen-2'")
    await page.goto('/chat')
    await page.getByRole('combobox', { name: 'Model: Birch 07' }).waitFor()
    expect(await page.getByText('Birch 07 will be switched off').count()).toBe(0)

    await end('-1 day', 'successor = null')
    await page.reload()
    await page.getByText(/^Birch 07 was switched off on .+\. Choose another model\.$/).waitFor()

    await end('30 days', "successor = 'aspen-2'")
    await page.reload()
    await page.getByText(/^Birch 07 will be switched off on .+\. Aspen 02 follows it\.$/).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Use Aspen 02' }).click()
    await page.getByRole('combobox', { name: 'Model: Aspen 02' }).waitFor()
    await chat.sendQuestion('Hello')
    await page.getByText('Aye.').waitFor()
    await chat.answered()
    expect(model()).toBe('aspen-2')

    await page.getByRole('combobox', { name: /^Model:/ }).click()
    await page.getByRole('combobox', { name: 'Search models' }).fill('birch 07')
    await page.keyboard.press('Enter')
    await end('-1 day', 'redirect = true')
    await chat.sendQuestion('Who answers?')
    await page.getByText('Aspen 02 answered in its place.').waitFor()
    await chat.answered()
    expect(model()).toBe('aspen-2')
    await page.reload()
    await page.getByText('Aspen 02 answered in its place.').waitFor()
    await svc.changeCatalogue(`update ai_models set deprecation_date = null, successor = null, redirect = false`)
  })

  test('a picture for a blind model leads to a seeing one, for this chat', async () => {
    await using chat = await openChat(svc, 'fred')
    const { page } = chat
    const button = page.getByRole('combobox', { name: /^Model:/ })
    const expectModel = (name: string) => page.getByRole('combobox', { name: `Model: ${name}` }).waitFor()
    await chat.sendQuestion('Hello')
    await page.getByText('Aye.').waitFor()
    await chat.answered()
    await button.click()
    await page.getByRole('combobox', { name: 'Search models' }).fill('aspen 02')
    await page.keyboard.press('Enter')
    await expectModel('Aspen 02')
    const chosen = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles({ name: 'dot.png', mimeType: 'image/png', buffer: PNG })
    const files = page.getByRole('list', { name: 'Files' })
    await files.getByText('Aspen 02 does not see pictures.').waitFor()
    await expectAccessible(page)
    await page.getByRole('link', { name: 'New chat' }).click()
    await expectModel('Birch 07')
    await page.goBack()
    await page.reload()
    await files.getByText('Aspen 02 does not see pictures.').waitFor()
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('aspen-2')

    await files.getByRole('button', { name: 'Use Birch 07' }).click()
    await expectModel('Birch 07')
    await files.getByText('Ready').waitFor()
    await chat.sendQuestion('What is it?')
    await expect.poll(() => JSON.stringify(upstream.requests.at(-1)?.body.messages)).toContain('image_url')
    await chat.answered()
    expect(model()).toBe('birch-7')
  })

  test('an answer is repeated by any of the models, without a mouse', async () => {
    await using chat = await openChat(svc, 'cora')
    const { page } = chat
    await chat.sendQuestion('Hello')
    await page.getByText('Aye.').waitFor()
    await chat.answered()
    upstream.behave = answers('Another word.')

    await page.getByRole('combobox', { name: 'Answer again with another model' }).focus()
    await page.keyboard.press('Enter')
    await waitForFocus(page.getByRole('combobox', { name: 'Search models' }))
    await page.keyboard.type('north 29')
    await page.getByRole('option', { name: /^Aspen 29/ }).waitFor()
    await page.keyboard.press('Enter')

    await page.getByText('Another word.').waitFor()
    await chat.answered()
    expect(model()).toBe('aspen-29')
    await page.getByRole('combobox', { name: 'Model: Birch 07' }).waitFor()
    await page.getByText('2 of 2').waitFor()
  })

  test('instructions and parameters before the first question hold for the chat in every browser', async () => {
    await using chat = await openChat(svc, 'dora')
    const { page } = chat
    const options = page.getByRole('button', { name: 'Chat settings' })
    await options.click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Instructions').fill('Talk like a pirate.')
    await dialog.getByLabel('Temperature, 0 to 2').fill('0.3')
    await dialog.getByLabel('Longest answer, in tokens').fill('77')
    expect(await dialog.getByLabel('Thinking effort').count()).toBe(0)
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await chat.sendQuestion('Hello')
    await page.getByText('Aye.').waitFor()
    await chat.answered()

    // Another browser has only what the service stores.
    await page.evaluate('localStorage.clear()')
    await page.reload()
    await page.getByText('Aye.').waitFor()
    await chat.sendQuestion('Again')
    await expect.poll(() => JSON.stringify(upstream.requests.at(-1)?.body.messages)).toContain('Again')

    const { body } = upstream.requests.at(-1) ?? {}
    expect(body?.['temperature']).toBe(0.3)
    expect(JSON.stringify(body)).toContain('77')
    expect(body?.messages[0]).toEqual({ role: 'system', content: 'Talk like a pirate.' })
    const [stored] = await svc.rows<{ sealed: string }>(
      `select sealed_options as sealed from conversations c join users u on u.id = c.user_id where username = 'dora'`,
    )
    expect(stored?.sealed).toMatch(/^[\w+/=]+\|[\w+/=]+\|[\w+/=]+$/)
  })

  test('instructions and the model in the settings hold for all chats of the person', async () => {
    await using chat = await openChat(svc, 'emil')
    const { page } = chat
    await page.goto('/settings/chats')
    const form = page.getByRole('form', { name: 'For all your chats' })
    await form.getByLabel('Instructions').fill('Answer briefly.')
    await form.getByLabel('Model of new chats').selectOption('Aspen 05')
    await expectAccessible(page)
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('Saved').waitFor()
    await page.evaluate('localStorage.clear()')

    await page.goto('/chat')
    await page.getByRole('combobox', { name: 'Model: Aspen 05' }).waitFor()
    // The model names the steps of its thinking.
    await page.getByRole('button', { name: 'Chat settings' }).click()
    const thinking = page.getByRole('dialog').getByLabel('Thinking effort')
    await thinking.waitFor()
    expect(await thinking.getByRole('option').allTextContents()).toEqual(["Model's default", 'Off', 'High'])
    await thinking.selectOption('Off')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await chat.sendQuestion('Hello')
    await page.getByText('Aye.').waitFor()

    expect(model()).toBe('aspen-5')
    expect(upstream.requests.at(-1)?.body['chat_template_kwargs']).toEqual({ enable_thinking: false })
    expect(upstream.requests.at(-1)?.body.messages[0]).toEqual({ role: 'system', content: 'Answer briefly.' })
    const [stored] = await svc.rows<{ sealed: string }>(
      `select sealed_chat_settings as sealed from users where username = 'emil'`,
    )
    expect(stored?.sealed).toMatch(/^[\w+/=]+\|[\w+/=]+\|[\w+/=]+$/)
  })
})
