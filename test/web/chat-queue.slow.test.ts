import type { ServerResponse } from 'node:http'
import type { Page, Route } from 'playwright-core'
import { beforeEach, expect, test } from 'vitest'
import {
  answers,
  beginStream,
  behavesInTurn,
  breaksOff,
  buildChunk,
  endStream,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForFocus } from '../kit/web/pages.ts'

describeWith('chromium')('a question that waits for the end of an answer', () => {
  const upstream = shareResource(startProvider)
  const config = shareResource(() => {
    const models = [
      { id: 'mock-1', label: 'First' },
      { id: 'mock-2', label: 'Second' },
    ]
    return writeConfig(upstream.url, { provider: { models, circuit: { failures: 1_000_000 } } })
  })
  const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))
  const chat = shareResource(() => openChat(svc, 'ada'))

  beforeEach(async () => {
    upstream.requests.length = 0
    await chat.page.goto('/chat')
  })

  /** Answers the first request when it is told to, and the others at once. */
  const answerLater = () => {
    const { promise, resolve } = Promise.withResolvers<ServerResponse>()
    const begin = (_: unknown, response: ServerResponse) => {
      beginStream(response)
      response.write(buildChunk({ delta: { content: 'Slowly.' } }))
      resolve(response)
    }
    upstream.behave = behavesInTurn(begin, answers('At once.'))
    return { end: async () => endStream(await promise) }
  }

  const waiting = (page: Page) => page.getByRole('group', { name: 'Question that waits' })
  const field = (page: Page) => page.getByRole('textbox', { name: 'Message' })
  const article = (text: string) => chat.page.getByRole('article').filter({ hasText: text })

  const queue = async (text: string) => {
    await field(chat.page).fill(text)
    await chat.page.getByRole('button', { name: 'Send after this answer' }).click()
    await waiting(chat.page).getByText(text).waitFor()
  }

  const begin = async (question: string) => {
    const answer = answerLater()
    await chat.sendQuestion(question)
    await article('Slowly.').waitFor()
    return answer
  }

  const countQuestions = async (page: Page) => {
    const slug = new URL(page.url()).pathname.slice('/chat/'.length)
    const query = `select from conversation_messages m join conversations c on c.id = m.conversation_id
      where c.slug = $1 and m.role = 'user'`
    return (await svc.rows(query, [slug])).length
  }

  test('is sent once, with its file and model, by its own tab', async () => {
    const { page } = chat
    const answer = await begin('What first?')
    await page.locator('input[type=file]').setInputFiles({
      name: 'notes.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('The notes.'),
    })
    await page.getByText('notes.txt').waitFor()
    await page.getByRole('combobox', { name: /^Model:/ }).click()
    await page.getByRole('option', { name: /^Second/ }).click()
    await queue('What second?')

    await expect.poll(() => field(page).inputValue()).toBe('')
    await waitForFocus(field(page))
    await waiting(page).getByText('This question is sent when the answer has ended.').waitFor()
    await waiting(page).getByText('Second · notes.txt').waitFor()
    await field(page).fill('What third?')
    expect(await page.getByRole('button', { name: 'Send after this answer' }).count()).toBe(0)
    await expectAccessible(page)
    const other = await page.context().newPage()
    await other.goto(page.url())
    await waiting(other).getByText('What second?').waitFor()
    expect(await countQuestions(page)).toBe(1)

    await answer.end()

    await article('At once.').waitFor()
    await chat.answered()
    await waiting(page).waitFor({ state: 'detached' })
    await waiting(other).waitFor({ state: 'detached' })
    expect(await countQuestions(page)).toBe(2)
    expect(upstream.requests).toHaveLength(2)
    const { model, messages } = upstream.requests[1]?.body ?? {}
    expect(model).toBe('mock-2')
    expect(JSON.stringify(messages)).toMatch(/What first\?.*Slowly\..*The notes\..*What second\?/)
    expect(await field(page).inputValue()).toBe('What third?')
    await field(page).fill('')
    await other.close()
  })

  test('waits on with the names of its files when its temporary chat is kept', async () => {
    const { page } = chat
    await page.getByRole('button', { name: 'Temporary chat' }).click()
    const answer = await begin('What is secret?')
    await page.locator('input[type=file]').setInputFiles({
      name: 'notes.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('The notes.'),
    })
    await page.getByText('Ready to send').waitFor()
    await queue('What is in it?')
    await page.getByRole('button', { name: 'Stop' }).click()
    await answer.end()
    await page.getByRole('button', { name: 'Keep this chat' }).click()
    await waiting(page).getByText('[notes.txt]').waitFor()
    await page.reload()
    await waiting(page).getByText('[notes.txt]').waitFor()
    await waiting(page).getByRole('button', { name: 'Send now' }).click()
    await article('At once.').waitFor()
    await chat.answered()
    const sent = JSON.stringify(upstream.requests.at(-1)?.body.messages)
    expect(sent).toMatch(/What is secret\?.*\[notes\.txt\]\\n\\nWhat is in it\?/)
    expect(sent).not.toContain('The notes.')
  })

  test('waits sealed after a stop and a reload, and returns to the field', async () => {
    const { page } = chat
    await begin('Count to a million?')
    await queue('And after that?')
    await page.getByRole('button', { name: 'Stop' }).click()
    await waiting(page).getByText('You stopped the answer, so this question waits.').waitFor()
    await expectAccessible(page)

    await page.reload()

    await waiting(page).getByText('Here it is sent only when you want it.').waitFor()
    expect(JSON.stringify(await page.evaluate(() => ({ ...localStorage })))).not.toContain('after that')
    await field(page).fill('a later thought')
    await waiting(page).getByRole('button', { name: 'Take back' }).click()
    await waiting(page).waitFor({ state: 'detached' })
    await expect.poll(() => field(page).inputValue()).toBe('And after that?\n\na later thought')
    expect(await countQuestions(page)).toBe(1)
    await page.reload()
    await expect.poll(() => field(page).inputValue()).toBe('And after that?\n\na later thought')
    expect(await waiting(page).count()).toBe(0)
    expect(upstream.requests).toHaveLength(1)
    await field(page).fill('')
  })

  test('is not sent twice although the response to it was lost', async () => {
    const { page } = chat
    const answer = await begin('What is lost?')
    await queue('Does it come twice?')
    const sending = '**/trpc/conversations.sendMessage**'
    // The request after the one that stores the answer is the question.
    const loseQuestion = async (route: Route) => {
      const isQuestion = !route.request().postData()?.includes('assistant')
      if (!isQuestion) return route.continue()
      await route.fetch()
      await route.abort()
    }
    await page.route(sending, loseQuestion)
    await answer.end()
    await waiting(page).getByRole('alert').waitFor()
    expect(await countQuestions(page)).toBe(2)
    await page.unroute(sending)

    await waiting(page).getByRole('button', { name: 'Send now' }).click()

    await article('At once.').waitFor()
    await waiting(page).waitFor({ state: 'detached' })
    expect(await countQuestions(page)).toBe(2)
    await chat.answered()

    const later = answerLater()
    await chat.sendQuestion('And what of files?')
    await article('Slowly.').nth(1).waitFor()
    const file = { name: 'only.txt', mimeType: 'text/plain', buffer: Buffer.from('Only this.') }
    await page.locator('input[type=file]').setInputFiles(file)
    await page.getByText('Ready').waitFor()
    await page.getByRole('button', { name: 'Send after this answer' }).click()
    await waiting(page).getByText('only.txt').waitFor()
    await page.route(sending, loseQuestion)
    await later.end()
    await waiting(page).getByRole('alert').waitFor()
    await page.unroute(sending)
    await page.reload()
    await waiting(page).getByRole('button', { name: 'Send now' }).click()
    await article('At once.').nth(1).waitFor()
    await waiting(page).waitFor({ state: 'detached' })
    expect(await countQuestions(page)).toBe(4)
    expect(JSON.stringify(upstream.requests.at(-1)?.body.messages)).toContain('Only this.')
    await chat.answered()
  })

  test('waits after a failure, and is sent once although two tabs try', async () => {
    const { page } = chat
    const failing = Promise.withResolvers<void>()
    upstream.behave = behavesInTurn(async (received, response) => {
      await failing.promise
      await breaksOff('error')(received, response)
    }, answers('At once.'))
    await chat.sendQuestion('Does it fail?')
    await page.getByRole('button', { name: 'Stop' }).waitFor()
    await queue('And now?')
    failing.resolve()
    await waiting(page).getByText('The answer has failed, so this question waits.').waitFor()
    const other = await page.context().newPage()
    await other.goto(page.url())

    const sendNow = (tab: Page) => waiting(tab).getByRole('button', { name: 'Send now' })
    await sendNow(other).waitFor()
    // The button of the slower tab may have gone already.
    await Promise.all([page, other].map((tab) => sendNow(tab).evaluateAll(([button]) => button?.click())))

    await article('At once.').waitFor()
    await waiting(page).waitFor({ state: 'detached' })
    await waiting(other).waitFor({ state: 'detached' })
    expect(await countQuestions(page)).toBe(2)
    expect(upstream.requests).toHaveLength(2)
    await other.close()
  })
})
