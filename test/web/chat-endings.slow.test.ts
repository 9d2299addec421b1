import type { Dialog } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import {
  answers,
  beginStream,
  behavesInTurn,
  buildChunk,
  refuses,
  replies,
  stalls,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openChat, recordSealed } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'

describeWith('chromium')('a question without an answer', () => {
  const upstream = shareResource(startProvider)
  const config = shareResource(() => {
    const price = (perMillion: number) => ({
      currency: 'EUR',
      inputPerMillion: perMillion,
      outputPerMillion: perMillion,
    })
    const models = [
      { id: 'mock-1', label: 'Dear', pricing: price(1000), limits: { maxOutputTokens: 1000 } },
      { id: 'mock-2', label: 'Cheap', pricing: price(1), limits: { maxOutputTokens: 1000 } },
      { id: 'mock-3', label: 'Gift', pricing: price(0), limits: { maxOutputTokens: 1000 } },
      { id: 'mock-4', label: 'Unpriced' },
    ]
    return writeConfig(upstream.url, { provider: { models, circuit: { failures: 1_000_000 } } })
  })
  const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))
  const chat = shareResource(() => openChat(svc, 'ada'))

  beforeEach(async () => {
    upstream.behave = answers('Good day.')
    upstream.requests.length = 0
    await chat.page.goto('/chat')
  })

  const article = (text: string) => chat.page.getByRole('article').filter({ hasText: text })
  const tryAgain = () => chat.page.getByRole('button', { name: 'Try again' })

  const finishes = (reason: string) =>
    replies(`data: ${JSON.stringify({ choices: [{ delta: {}, finish_reason: reason }] })}\n\ndata: [DONE]\n\n`, {
      type: 'text/event-stream',
    })

  test.for([
    ['content_filter', 'The model refused to answer this.'],
    ['stop', 'The model sent an empty answer.'],
  ] as const)('says so after an end by %s and after a reload, and is asked again', async ([reason, sentence]) => {
    const { page } = chat
    upstream.behave = behavesInTurn(finishes(reason), answers('At last.'))
    await chat.sendQuestion('Anything?')
    await page.getByText(sentence).waitFor()
    await expectAccessible(page)
    await page.reload()
    await page.getByText(sentence).waitFor()
    await tryAgain().waitFor()
    await expectAccessible(page)

    await tryAgain().click()

    await article('At last.').waitFor()
    await chat.answered()
    expect(await page.getByText(sentence).count()).toBe(0)
  })

  test('says why its provider failed, also after a reload', async () => {
    const { page } = chat
    upstream.behave = refuses(401)
    await chat.sendQuestion('With which key?')
    await page.getByText('The provider does not accept the key of this service.').waitFor()

    await page.reload()

    await page.getByText('The provider does not accept the key of this service.').waitFor()
    await tryAgain().waitFor()
  })

  test('stays written where there is no room for another chat, which the page says', async () => {
    const { page } = chat
    await svc.rows(`insert into conversations (user_id, slug, name)
      select u.id, 'filler' || n, 'Filler' from users u, generate_series(1, 1000) n where u.username = 'ada'`)
    await chat.sendQuestion('Is there room?')
    await page.getByText('There is no room for more here. Delete something').waitFor()
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Is there room?')
    await expectAccessible(page)

    await svc.rows(`delete from conversations where name = 'Filler'`)
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await article('Good day.').waitFor()
    await chat.answered()
  })

  test('says that the page was reloaded before the answer came', async () => {
    const { page } = chat
    upstream.behave = stalls
    await chat.sendQuestion('Are you there?')
    await expect.poll(() => upstream.requests.length).toBe(1)
    await page.reload()
    await page.getByText('the page was closed or reloaded before').waitFor()
    upstream.behave = answers('Here I am.')

    await tryAgain().click()

    await article('Here I am.').waitFor()
    await chat.answered()
    expect(await tryAgain().count()).toBe(0)
  })

  test('makes the browser ask before its tab closes, only while the answer runs', async () => {
    const { page } = chat
    upstream.behave = (_, response) => void beginStream(response)
    await chat.sendQuestion('Will you wait?')
    await expect.poll(() => upstream.requests.length).toBe(1)
    page.once('dialog', (dialog) => void dialog.dismiss())
    await page.evaluate('location.reload()')
    await page.getByText('That ends when you close or reload this tab.').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('That ends when you close or reload this tab.').waitFor({ state: 'detached' })
    const dialogs: string[] = []
    const record = (dialog: Dialog) => {
      dialogs.push(dialog.type())
      return dialog.accept()
    }
    page.on('dialog', record)

    await page.reload()
    await page.getByText('You stopped the answer before it began.').waitFor()

    page.off('dialog', record)
    expect(dialogs).toEqual([])
  })

  test('does not hold a page open whose person has signed out in another tab', async () => {
    const { page } = chat
    upstream.behave = (_, response) => void beginStream(response)
    await chat.sendQuestion('Who is there?')
    await expect.poll(() => upstream.requests.length).toBe(1)
    const dialogs: string[] = []
    const record = (dialog: Dialog) => {
      dialogs.push(dialog.type())
      return dialog.dismiss()
    }
    page.on('dialog', record)

    await page.evaluate("new BroadcastChannel('svc:session').postMessage({ person: null })")
    await page.getByText('the page was closed or reloaded before').waitFor()

    page.off('dialog', record)
    expect(dialogs).toEqual([])
  })

  test('is sent with the next one, which says so, and can be repeated', async () => {
    upstream.behave = behavesInTurn(refuses(400), answers('To both.'), answers('To the first.'))
    await chat.sendQuestion('First?')
    await tryAgain().waitFor()
    await chat.answered()
    await chat.sendQuestion('Second?')
    await article('To both.').waitFor()
    await chat.answered()

    expect(await article('Second?').getByText('sent together with the question above').count()).toBe(1)
    expect(await article('First?').getByText('sent together').count()).toBe(0)
    await tryAgain().click()
    await article('To the first.').waitFor()
    await chat.answered()
    expect(await article('Second?').count()).toBe(0)
  })

  test('keeps what came of its answer when reloaded in the first second', async () => {
    const { page } = chat
    upstream.behave = (_, response) => {
      beginStream(response)
      response.write(buildChunk({ delta: { content: 'The beginning.' } }))
    }
    const sealed = await recordSealed(page)
    await chat.sendQuestion('Begin?')
    await article('The beginning.').waitFor()
    await sealed.wait('The beginning.')

    await page.reload()

    await article('The beginning.').getByText('This answer was interrupted.').waitFor()
    const ofThisChat = 'conversation_id = (select max(id) from conversations)'
    expect(
      await svc.rows(
        `select from conversation_messages where ${ofThisChat} and role = 'assistant' and not is_complete`,
      ),
    ).toHaveLength(1)
  })

  test('whose answer cannot be stored has it stored later, without asking the model twice', async () => {
    const { page } = chat
    const store = '**/trpc/conversations.sendMessage*'
    await chat.sendQuestion('First')
    await article('Good day.').waitFor()
    await chat.answered()
    let lost = 0
    await page.route(store, async (route) => {
      if (!route.request().postData()?.includes('assistant')) return route.continue()
      // The service stores the answer, and its response is lost.
      if (lost++ === 0) await route.fetch()
      return route.abort()
    })
    upstream.requests.length = 0
    await chat.sendQuestion('Keep it')
    await page.getByText('The answer has come, but it is not stored yet.').waitFor()
    await expectAccessible(page)
    await page.unroute(store)

    await page.getByRole('button', { name: 'Store now' }).click()

    await page.getByText('The answer has come, but it is not stored yet.').waitFor({ state: 'detached' })
    await chat.answered()
    expect(upstream.requests).toHaveLength(1)
    await page.reload()
    await expect.poll(() => article('Good day.').count()).toBe(2)
    expect(await page.getByText('1 of 2').count()).toBe(0)
  })

  test('that a limit refuses says what is left, and offers what fits', async () => {
    const { page } = chat
    await svc.host.limits.set({ name: 'Purse', for: 'user:ada', cap: 0.5, unit: 'EUR', per: 'month' })
    const refusal = page.getByRole('alert').filter({ hasText: 'The limit “Purse” has €0.' })
    await chat.sendQuestion('How much?')
    await refusal.waitFor()
    expect(await refusal.textContent()).toMatch(
      /^The limit “Purse” has €0\.\d+ left\. This question and its answer may take up to €1\.\d+\./,
    )
    await expectAccessible(page)
    expect(upstream.requests).toEqual([])

    await page.getByRole('button', { name: /^Ask for a shorter answer, about \d+ words$/ }).click()
    await article('Good day.').waitFor()
    await chat.answered()
    expect(upstream.requests.at(-1)?.body['max_tokens']).toBeLessThan(500)
    await chat.sendQuestion('And now?')
    await expect
      .poll(() => page.getByRole('button', { name: /^Ask .* instead$/ }).allTextContents())
      .toEqual(['Ask Gift instead', 'Ask Cheap instead'])
    await page.getByRole('button', { name: 'Ask Cheap instead' }).click()

    await expect.poll(() => article('Good day.').count()).toBe(2)
    expect(upstream.requests.at(-1)?.body.model).toBe('mock-2')
  })

  test('a model without a price is refused, naming one that has a price', async () => {
    await using bert = await openChat(svc, 'bert')
    const { page } = bert
    await svc.host.limits.set({ name: 'House', for: 'user:bert', cap: 5, unit: 'EUR', per: 'month' })
    await page.getByRole('combobox', { name: /^Model:/ }).click()
    await page.getByRole('option', { name: /^Unpriced/ }).click()
    await bert.sendQuestion('For free?')
    const refusal = page.getByRole('alert').filter({ hasText: 'The limit “House” has €5.00 left.' })
    await refusal.getByText('because the model has no price').waitFor()
    expect(upstream.requests).toEqual([])

    await refusal.getByRole('button', { name: 'Ask Cheap instead' }).click()

    await page.getByRole('article').filter({ hasText: 'Good day.' }).waitFor()
    await bert.answered()
  })
})
