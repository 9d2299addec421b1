import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { answers, type ProviderRequest, refuses, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addPerson } from '../kit/assistants/people.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'

const asksForTitle = ({ body }: ProviderRequest) => JSON.stringify(body.messages).includes('a title of at most')

describeWith('chromium')('the title of a chat', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let title = answers('**Title:** Greetings')

  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const models = ['mock-1', 'mock-2'].map((id) => ({ id, label: id, external: true }))
    const config = resources.use(await writeConfig(upstream.url, { provider: { models }, more: { systemModels: {} } }))
    svc = resources.use(await startApp({ AI_CONFIG: config.file, AI_CHAT_TITLES: 'true' }))
  })
  beforeEach(() => {
    upstream.requests.length = 0
    title = answers('**Title:** Greetings')
    upstream.behave = (request, response) => (asksForTitle(request) ? title : answers('Aye.'))(request, response)
  })
  afterAll(() => resources.disposeAsync())

  const open = async (name: string) => {
    const chat = await openChat(svc, name)
    const ask = async (question: string) => {
      await chat.page.goto('/chat')
      await chat.sendQuestion(question)
      await chat.page.getByText('Aye.').waitFor()
      await chat.answered()
    }
    const named = (as: string) => chat.page.getByRole('link', { name: as, exact: true }).waitFor()
    return { ...chat, ask, named, [Symbol.asyncDispose]: () => chat[Symbol.asyncDispose]() }
  }
  const listAskedModels = () => upstream.requests.filter(asksForTitle).map(({ body }) => body.model)

  test("comes sealed from the chat's model, numbered if another chat has it", async () => {
    await using chat = await open('ada')
    await chat.ask('Good morning to all of you')
    await chat.named('Greetings')
    await chat.ask('Good evening')
    await chat.named('Greetings (2)')
    expect(listAskedModels()).toEqual(['mock-1', 'mock-1'])
    expect(JSON.stringify(await svc.rows('select * from conversations'))).not.toContain('Greetings')
    const countCalls = async () => {
      await svc.services.ai.usageLedger.flush()
      return svc.rows(
        "select count(*)::int as calls from usage_records r join users u on u.id = r.user_id where username = 'ada'",
      )
    }
    await expect.poll(countCalls).toEqual([{ calls: 4 }])

    await chat.sendQuestion('And good night')
    await chat.page.getByText('Aye.').nth(1).waitFor()
    await chat.answered()
    expect(listAskedModels()).toHaveLength(2)

    await chat.page.goto('/chat')
    const chosen = chat.page.waitForEvent('filechooser')
    await chat.page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles([{ name: 'poem.txt', mimeType: 'text/plain', buffer: Buffer.from('A rose') }])
    await chat.page.getByText('Ready').waitFor()
    await chat.sendQuestion('')
    await chat.page.getByText('Aye.').waitFor()
    await chat.named('Greetings (3)')
    expect(JSON.stringify(upstream.requests.findLast(asksForTitle)?.body.messages)).toContain('user: poem.txt')

    title = answers('Roses')
    await chat.page.getByRole('button', { name: 'Options for Greetings (3)' }).click()
    await chat.page.getByRole('menuitem', { name: 'Rename' }).click()
    const dialog = chat.page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Suggest' }).click()
    await expect.poll(() => dialog.getByRole('textbox').inputValue()).toBe('Roses')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await chat.named('Roses')
    expect(new Set(listAskedModels())).toEqual(new Set(['mock-1']))
  })

  test('comes after the first answer although a question has waited for that', async () => {
    await using chat = await open('dan')
    const { page } = chat
    const first = Promise.withResolvers<void>()
    upstream.behave = async (request, response) => {
      if (asksForTitle(request)) return title(request, response)
      await first.promise
      await answers('Aye.')(request, response)
    }
    await page.goto('/chat')
    await chat.sendQuestion('Good morning')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('And good night')
    await page.getByRole('button', { name: 'Send after this answer' }).click()
    await page.getByRole('group', { name: 'Question that waits' }).waitFor()
    first.resolve()
    await page.getByText('Aye.').nth(1).waitFor()
    await chat.named('Greetings')
  })

  test('comes from the model that answers for an assistant whose own one is off', async () => {
    const owner = await addPerson(svc)
    const handle = `guide-${owner.id}`
    await owner.create(handle, { name: 'Guide', model: 'mock-2', allowModelSelect: true })
    await owner.shareWithAll(handle)
    await svc.changeCatalogue("update ai_models set active = false where model_id = 'mock-2'")
    await using chat = await open('eva')
    const { page } = chat
    await page.goto(`/chat?assistant=${handle}`)
    await page.getByRole('combobox', { name: 'Choose a model for it' }).click()
    await page.getByRole('option', { name: /mock-1/i }).click()
    await page.getByText('Choose a model that answers for it.').waitFor({ state: 'detached' })
    await chat.sendQuestion('Good morning')
    await page.getByText('Aye.').waitFor()
    await chat.named('Greetings')
    expect(new Set(listAskedModels())).toEqual(new Set(['mock-1']))
  })

  test('is the first words where no model gives one', async () => {
    await using chat = await open('ben')
    title = refuses(400)
    await chat.ask('Good morning')
    await expect.poll(listAskedModels).toHaveLength(1)
    await chat.named('Good morning')
    expect(await chat.page.getByRole('alert').count()).toBe(0)
  })

  test('is not asked for by people who want none', async () => {
    await using chat = await open('cora')
    const { page } = chat
    await page.goto('/settings/chats')
    const form = page.getByRole('form', { name: 'For all your chats' })
    await form.getByLabel('Name chats by a model').uncheck()
    await expectAccessible(page)
    await form.getByRole('button', { name: 'Save' }).click()
    await form.getByText('Saved').waitFor()
    await chat.ask('Good morning')
    await chat.named('Good morning')
    await chat.ask('Good evening')
    await chat.named('Good evening')
    expect(listAskedModels()).toEqual([])
  })
})
