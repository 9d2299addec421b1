import type { ServerResponse } from 'node:http'
import type { Page } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import {
  answers,
  type Behaviour,
  beginStream,
  buildChunk,
  endStream,
  refuses,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { addPerson } from '../kit/assistants/people.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openChat, recordSealed } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'

describeWith('chromium')('two answers to one question', () => {
  const upstream = shareResource(startProvider)
  const config = shareResource(() => {
    const pricing = { currency: 'EUR', inputPerMillion: 1000, outputPerMillion: 2000 }
    const models = [
      { id: 'mock-1', label: 'First', external: true, pricing },
      { id: 'mock-2', label: 'Second', external: true, pricing },
    ]
    return writeConfig(upstream.url, { provider: { models, circuit: { failures: 1_000_000 } } })
  })
  const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))
  const chat = shareResource(() => openChat(svc, 'ada'))

  beforeEach(async () => {
    upstream.requests.length = 0
    await chat.page.goto('/chat')
  })

  /** Answers by the name of the model, and holds the streams open until the test ends them. */
  const answerByModel = () => {
    const open = new Map<string, ServerResponse>()
    const behave: Behaviour = ({ body }, response) => {
      beginStream(response)
      response.write(buildChunk({ delta: { content: `I am ${body.model}.` } }))
      open.set(String(body.model), response)
    }
    upstream.behave = behave
    return { open, end: (model: string) => endStream(open.get(model) as ServerResponse) }
  }

  const side = (letter: string) => chat.page.getByRole('article', { name: `Answer ${letter}` })
  const button = (name: string | RegExp, exact = true) => chat.page.getByRole('button', { name, exact })

  const bar = () => chat.page.getByRole('group', { name: 'Compare two answers' })

  /** Asks the first model beside the other one. */
  const compare = async (question: string, isBlind = false) => {
    await button('Compare two answers').press('Enter')
    const chosen = chat.page.getByRole('combobox', { name: /^Model: / })
    if ((await chosen.getAttribute('aria-label')) !== 'Model: First') {
      await chosen.click()
      await chat.page.getByRole('option', { name: /^First/ }).click()
    }
    await bar().getByRole('combobox', { name: 'Second answer by: Second' }).waitFor()
    if (isBlind) await bar().getByRole('checkbox').check()
    await chat.sendQuestion(question)
  }

  test('stream side by side, can be stopped and repeated, and survive a reload', async () => {
    const { page } = chat
    const running = answerByModel()
    await compare('Who are you?')

    await side('A').getByText('I am mock-1.').waitFor()
    await side('B').getByText('I am mock-2.').waitFor()
    expect(running.open.size).toBe(2)
    await expectAccessible(page)

    await button('Stop Answer B: Second').focus()
    await page.keyboard.press('Shift+Tab')
    await page.keyboard.press('Enter')
    await side('A').getByText('You stopped this answer').waitFor()
    running.end('mock-2')
    await side('B').getByText('€').waitFor()

    upstream.behave = answers('Now whole.')
    await button('Request again: Answer A: First').press('Enter')
    await side('A').getByText('Now whole.').waitFor()
    await side('A').getByText('€').waitFor()
    await page.reload()
    await side('A').getByText('Now whole.').waitFor()
    await side('B').getByText('I am mock-2.').waitFor()
    await page.setViewportSize({ width: 360, height: 800 })
    const [above, below] = [await side('A').boundingBox(), await side('B').boundingBox()]
    expect(below?.y).toBeGreaterThan((above?.y ?? 0) + (above?.height ?? 0) - 1)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await page.setViewportSize({ width: 1280, height: 800 })

    await button('Request again: Answer A: First').focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await side('A').waitFor({ state: 'detached' })
    await chat.messages().getByText('I am mock-2.').waitFor()
    await page.reload()
    await button('Next version').click()
    await chat.messages().getByText('Now whole.').waitFor()
    await button('Previous version').click()
    await chat.messages().getByText('I am mock-2.').waitFor()
    await chat.sendQuestion('And then?')
    await expect.poll(() => JSON.stringify(upstream.requests.at(-1)?.body)).toContain('And then?')
    expect(upstream.requests.at(-1)?.body.model).toBe('mock-2')
    expect(JSON.stringify(upstream.requests.at(-1)?.body)).toContain('I am mock-2.')
    expect(JSON.stringify(upstream.requests.at(-1)?.body)).not.toContain('Now whole.')
    await chat.answered()
  })

  test('can fail one by one, and be chosen while the other comes', async () => {
    const { page } = chat
    const running = answerByModel()
    const answerFirst = upstream.behave
    const failSecond = (fail: Behaviour) => {
      upstream.behave = (received, response) =>
        (received.body.model === 'mock-2' ? fail : answerFirst)(received, response)
    }
    const again = button('Try again: Answer B: Second')
    failSecond(refuses(401))
    await compare('Who of you works?')
    await side('B').getByText('The provider does not accept the key of this service.').waitFor()
    await side('A').getByText('I am mock-1.').waitFor()
    await page.getByText('One answer is still coming.', { exact: true }).waitFor()
    await expectAccessible(page)

    failSecond(refuses(429))
    await again.press('Enter')
    await side('B').getByText('The provider is getting too many requests').waitFor()
    failSecond((_, response) => {
      beginStream(response)
      endStream(response)
    })
    await again.press('Enter')
    await side('B').getByText('The model sent an empty answer.').waitFor()
    failSecond(answers('I work again.'))
    await side('B')
      .getByRole('combobox', { name: /^Ask another model/ })
      .click()
    await page.getByRole('option', { name: /^Second/ }).click()
    await side('B').getByText('€').waitFor()
    await page.getByText('If you go on with the other one now, it is stopped.').waitFor()
    expect(await side('A').getAttribute('aria-busy')).toBe('true')

    await button('Go on with this: Answer B: Second').click()
    await side('A').waitFor({ state: 'detached' })
    await expect.poll(() => upstream.requests.find(({ body }) => body.model === 'mock-1')?.abortedAt).toBeDefined()
    await chat.messages().getByText('I work again.').waitFor()
    await button('Next version').click()
    await chat.messages().getByText('I am mock-1.').waitFor()
    await chat.messages().getByText('You stopped this answer.').waitFor()
    expect(running.open.size).toBe(1)
  })

  test('are closed in every tab once one of them is chosen', async () => {
    const { page } = chat
    upstream.behave = (received, response) =>
      (received.body.model === 'mock-2' ? refuses(401) : answers('I am chosen.'))(received, response)
    await compare('Who is chosen elsewhere?')
    await side('B').getByRole('alert').waitFor()
    await side('A').getByText('€').waitFor()

    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByRole('button', { name: 'Go on with this: Answer A: First', exact: true }).click()

    await side('B').waitFor({ state: 'detached' })
    await chat.messages().getByText('I am chosen.').waitFor()
    await other.close()
  })

  test('stay with the one that another tab has chosen while they come', async () => {
    const { page } = chat
    const running = answerByModel()
    await compare('Who is chosen early?')
    await side('B').getByText('I am mock-2.').waitFor()
    await side('A').getByText('I am mock-1.').waitFor()
    // Of what comes, a part is stored each few seconds.
    await page.evaluate('{ const now = Date.now; Date.now = () => now() + 6000 }')
    running.open.get('mock-1')?.write(buildChunk({ delta: { content: ' I have more' } }))
    const other = await page.context().newPage()
    const choose = other.getByRole('button', { name: 'Go on with this: Answer A: First', exact: true })
    const answer = (tab: Page) => tab.getByRole('article', { name: 'Message from First' })
    await expect.poll(() => page.url()).toMatch(/chat\/./)
    await other.goto(page.url())
    await choose.click()

    await expect.poll(() => upstream.requests.find(({ body }) => body.model === 'mock-2')?.abortedAt).toBeDefined()
    running.open.get('mock-1')?.write(buildChunk({ delta: { content: ' to say.' } }))
    running.end('mock-1')
    for (const tab of [page, other]) {
      await answer(tab).getByText('I am mock-1. I have more to say.').waitFor()
      await tab.reload()
      await answer(tab).getByText('I am mock-1. I have more to say.').waitFor()
      await tab.getByRole('article', { name: /^Answer/ }).waitFor({ state: 'detached' })
    }

    // The other one is shown to whoever looks for it, also after a reload.
    await other.getByRole('button', { name: 'Next version' }).click()
    await other.getByText('You stopped this answer').waitFor()
    await other.reload()
    await other.getByText('You stopped this answer').waitFor()
    await other.close()
    await answer(page).waitFor()
  })

  test('keep what has come when the page is reloaded while both come', async () => {
    const { page } = chat
    const running = answerByModel()
    const sealed = await recordSealed(page)
    await compare('Who is interrupted?')
    await side('A').getByText('I am mock-1.').waitFor()
    await side('B').getByText('I am mock-2.').waitFor()
    for (const words of ['I am mock-1.', 'I am mock-2.']) await sealed.wait(words)

    await page.reload()

    for (const letter of ['A', 'B']) await side(letter).getByText('This answer was interrupted.').waitFor()
    await side('B').getByText('I am mock-2.').waitFor()
    await button('Request again: Answer B: Second').click()
    await expect.poll(() => upstream.requests.length).toBe(3)
    await side('B').getByText('This answer was interrupted.').waitFor({ state: 'detached' })
    running.end('mock-2')
    await side('B').getByText('€').waitFor()
    await button('Go on with this: Answer A: First').click()
    await side('B').waitFor({ state: 'detached' })

    // Before anything has come, both are asked again.
    upstream.behave = (_, response) => beginStream(response)
    upstream.requests.length = 0
    await compare('Who says nothing yet?')
    await expect.poll(() => upstream.requests.length).toBe(2)
    await page.reload()
    upstream.behave = answers('I come after all.')
    await button('Ask both again').click()
    for (const letter of ['A', 'B']) await side(letter).getByText('I come after all.').waitFor()
    expect(upstream.requests.map(({ body }) => body.model).sort()).toEqual(['mock-1', 'mock-1', 'mock-2', 'mock-2'])
  })

  test('of an assistant and a model in a temporary chat are kept with it', async () => {
    const { page } = chat
    const owner = await addPerson(svc)
    await owner.create('helper', { name: 'Librarian' })
    await owner.shareWithAll('helper')
    upstream.behave = answers('An answer that is kept.')
    await page.reload()
    await button('Temporary chat').click()
    await button('Compare two answers').click()
    await bar().getByRole('combobox').click()
    await page.getByRole('option', { name: /^Librarian/ }).click()
    await bar().getByRole('combobox', { name: 'Second answer by: Librarian' }).waitFor()
    await chat.sendQuestion('Which of you is a librarian?')

    await side('B').getByText('€').waitFor()
    await side('A').getByText('€').waitFor()
    expect(JSON.stringify(upstream.requests.map(({ body }) => body.messages))).toContain('Answer as a librarian.')
    await button('Keep this chat').click()
    await expect.poll(() => page.url()).not.toContain('temporary')
    await page.reload()
    await side('A').getByText('An answer that is kept.').waitFor()
    await button('Go on with this: Answer B: Librarian').click()
    await page.getByRole('article', { name: 'Message from Librarian, version 1' }).waitFor()
    await page.getByRole('combobox', { name: 'Model: Librarian' }).waitFor()
    await button('Previous version').waitFor()
  })

  test('are not chosen for a question that waits for the end of an answer', async () => {
    const running = answerByModel()
    await chat.sendQuestion('Who is first?')
    await chat.messages().getByText('I am mock-1.').waitFor()
    await chat.page.getByRole('textbox', { name: 'Message' }).fill('Who is next?')
    await button('Send after this answer').waitFor()

    await button('Compare two answers').press('Enter')
    await button('Send after this answer').waitFor({ state: 'detached' })

    running.end('mock-1')
    await button('Send').click()
    await side('B').getByText('I am mock-2.').waitFor()
    for (const model of ['mock-1', 'mock-2']) running.end(model)
    await expect.poll(() => button(/^Go on with this: Answer B/).isEnabled()).toBe(true)
  })

  test('hide their names until one is chosen', async () => {
    upstream.behave = answers('A plain answer.')
    await compare('Who wrote it?', true)
    await button('Go on with this: Answer B').waitFor()
    await expect.poll(() => button('Go on with this: Answer B').isEnabled()).toBe(true)

    const text = await chat.page.getByRole('region', { name: 'Two answers' }).innerText()
    expect(text).not.toMatch(/First|Second|mock|€/)
    await chat.page.reload()
    await side('A').getByText('A plain answer.').waitFor()
    expect(await chat.page.getByRole('region', { name: 'Two answers' }).innerText()).not.toMatch(/First|Second|€/)

    await button('Go on with this: Answer A').click()
    await chat.page.getByRole('article', { name: /First|Second/ }).waitFor()
  })

  test('are both not asked if a limit has room for one', async () => {
    upstream.behave = answers('An answer.')
    await svc.host.limits.set({
      name: 'one',
      for: 'installation',
      cap: 1,
      unit: 'requests',
      per: 'month',
      countFrom: 'now',
      confirm: true,
    })
    await compare('Will you both answer?')

    await chat.page.getByRole('alert').getByText('No answer was requested').waitFor()
    expect(upstream.requests).toHaveLength(0)
    await button('Ask only Second').click()
    await chat.messages().getByText('An answer.').waitFor()
    await chat.answered()
    await svc.host.limits.remove({ name: 'one' })
  })

  test('of an assistant by a chosen model and of a model alone both come', async () => {
    const { page } = chat
    const owner = await addPerson(svc)
    await owner.create('guide', { name: 'Guide', allowModelSelect: true })
    await owner.shareWithAll('guide')
    upstream.behave = answers('A guided answer.')
    await page.reload()
    await page.getByRole('combobox', { name: /^Model: / }).click()
    await page.getByRole('option', { name: /^Guide/ }).click()
    await button('Chat settings').click()
    const dialog = page.getByRole('dialog', { name: 'Chat settings' })
    await dialog.getByLabel('Model', { exact: true }).selectOption('Second')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    await button('Compare two answers').click()
    await bar().getByRole('combobox', { name: 'Second answer by: First' }).waitFor()
    await chat.sendQuestion('Where to?')

    await button('Go on with this: Answer B: First').waitFor()
    await expect.poll(() => button('Go on with this: Answer A: Guide').isEnabled()).toBe(true)
    await expect.poll(() => upstream.requests.map(({ body }) => body.model).toSorted()).toEqual(['mock-1', 'mock-2'])
    await chat.answered()
  })
})
