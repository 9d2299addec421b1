import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  answers,
  type Behaviour,
  buildCompletion,
  type ProviderRequest,
  refuses,
  sendJson,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForFocus } from '../kit/web/pages.ts'

type Content = string | { text: string }[]

/** The texts of a request with their roles. */
const readTexts = ({ body }: ProviderRequest): [string, string][] =>
  body.messages.map(({ role, content }) => {
    const parts = content as unknown as Content
    return [role, typeof parts === 'string' ? parts : parts.map(({ text }) => text).join('\n')]
  })
const countTokens = (request: ProviderRequest): number =>
  Math.ceil(readTexts(request).reduce((sum, [, text]) => sum + text.length, 0) / 4)

const asksForSummary = ({ body }: ProviderRequest) => JSON.stringify(body.messages).includes('<conversation>')

const answersTo =
  (text: string): Behaviour =>
  async (request, response) => {
    const input = countTokens(request)
    const tokens = { prompt_tokens: input, completion_tokens: 3, total_tokens: input + 3 }
    await answers(text, undefined, tokens)(request, response)
  }

/** Refuses what the model without a known limit cannot read. */
const refusesLong: Behaviour = (request, response) =>
  countTokens(request) > 2000
    ? sendJson(response, { error: { code: 'context_length_exceeded', message: 'Too long.' } }, 400)
    : answersTo('Aye.')(request, response)

const ends =
  (content: string, reason: string): Behaviour =>
  (_, response) => {
    const completion = buildCompletion(content)
    sendJson(response, { ...completion, choices: [{ ...completion.choices[0], finish_reason: reason }] })
  }

/** 500 tokens. */
const long = (word: string) => `${word} ${'chess '.repeat(333)}`.trim()

describeWith('chromium')('a long chat', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let summarise: Behaviour

  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const models = [
      { id: 'mock-1', label: 'Small', external: true, limits: { maxInputTokens: 4000 } },
      { id: 'mock-2', label: 'Summariser', external: true },
    ]
    const systemModels = { default: 'mock-1', summary: 'mock-2' }
    const config = resources.use(await writeConfig(upstream.url, { provider: { models }, more: { systemModels } }))
    svc = resources.use(await startApp({ AI_CONFIG: config.file }))
  })
  beforeEach(() => {
    upstream.requests.length = 0
    summarise = answers('They spoke of chess.')
    upstream.behave = (request, response) => {
      if (asksForSummary(request)) return summarise(request, response)
      return (request.body.model === 'mock-2' ? refusesLong : answersTo('Aye.'))(request, response)
    }
  })
  afterAll(() => resources.disposeAsync())

  const open = async (name: string) => {
    const chat = await openChat(svc, name)
    const { page } = chat
    await page.goto('/chat')
    const ask = async (question: string) => {
      await chat.sendQuestion(question)
      await page
        .getByRole('article')
        .filter({ hasText: question.slice(0, 20) })
        .last()
        .waitFor()
      await chat.answered()
    }
    const readLast = () => readTexts(upstream.requests.at(-1) as ProviderRequest)
    const summary = page.getByRole('article', { name: /^Summary of/ })
    const summariseButton = page.getByRole('button', { name: 'Summarise and go on' })
    const attach = async (files: Record<string, string>) => {
      const chosen = page.waitForEvent('filechooser')
      await page.getByRole('button', { name: 'Attach files' }).click()
      const list = Object.entries(files).map(([file, text]) => ({
        ...{ name: file, mimeType: 'text/plain', buffer: Buffer.from(text) },
      }))
      await (await chosen).setFiles(list)
      await page.getByText('Ready to send').first().waitFor()
    }
    const press = (label: string) => page.getByRole('button', { name: label }).first().click()
    const dispose = () => chat[Symbol.asyncDispose]()
    return { ...chat, ask, readLast, summary, summariseButton, attach, press, [Symbol.asyncDispose]: dispose }
  }

  test('shows how full it is, and goes on with a summary, editable, undoable', async () => {
    await using chat = await open('ada')
    const { page, ask, readLast, summary, summariseButton, press } = chat
    await press('Chat settings')
    await page.getByLabel('Instructions').fill('You help with chess.')
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    for (const word of ['One', 'Two', 'Three', 'Four']) await ask(long(word))
    const gauge = page.getByRole('meter', { name: 'How full the chat is' })
    expect(await gauge.count()).toBe(0)
    await ask(long('Five'))
    await page.getByText(/This chat takes 6\d% of what Small can read/).waitFor()
    expect(await summariseButton.count()).toBe(0)
    for (const word of ['Six', 'Seven']) await ask(long(word))
    await page.getByText(/This chat takes 8\d% of what Small can read/).waitFor()
    await expectAccessible(page)

    const stored = () => svc.rows('select seq from conversation_messages order by seq')
    const before = await stored()
    const failures: Behaviour[] = [ends('<think>Well, chess', 'stop'), ends('They sp', 'length'), refuses(400)]
    for (const failure of failures) {
      summarise = failure
      await summariseButton.click()
      await page.getByText('The chat could not be summarised, and stays as it was.').waitFor()
      await press('Close')
    }
    expect(await stored()).toEqual(before)

    const written = Promise.withResolvers<void>()
    summarise = async (request, response) => {
      await written.promise
      await answers('They spoke of pawns.')(request, response)
    }
    await summariseButton.click()
    await page.getByRole('button', { name: 'Answer again' }).last().click()
    const versions = page.getByText('2 of 2')
    await versions.waitFor()
    await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' })
    written.resolve()
    await page.getByText('is being summarised').waitFor({ state: 'detached' })
    expect(await versions.count()).toBe(1)
    expect(await summary.count()).toBe(0)

    summarise = answers('They spoke of chess.')
    upstream.requests.length = 0
    await summariseButton.click()
    await summary.getByText('They spoke of chess.').waitFor()
    expect(upstream.requests.map(({ body }) => body.model)).toEqual(['mock-2'])
    await expect.poll(() => gauge.count()).toBe(0)
    await page.getByText('The model gets the messages from here on as they are').waitFor()
    await ask('Eight?')
    const whole = readLast()
    expect(whole.map(([role, text]) => [role, text.slice(0, 28)])).toEqual([
      ['system', 'You help with chess.'],
      ['user', 'Summarise our chat so far.'],
      ['assistant', 'They spoke of chess.'],
      ['user', long('Seven').slice(0, 28)],
      ['assistant', 'Aye.'],
      ['user', 'Eight?'],
    ])

    await summary.getByRole('button', { name: 'Show what it replaces' }).click()
    await expect.poll(() => summary.getByRole('listitem').count()).toBe(12)
    await expectAccessible(page)
    await summary.getByRole('button', { name: 'Edit the summary' }).click()
    await summary.getByRole('textbox').fill('They spoke of openings.')
    await summary.getByRole('button', { name: 'Save' }).click()
    await summary.getByText('They spoke of openings.').waitFor()
    expect(JSON.stringify(await svc.rows('select * from conversation_messages'))).not.toMatch(/spoke|chess/)
    await page.reload()
    await summary.getByText('They spoke of openings.').waitFor()
    await ask('Nine?')
    expect(readLast().map(([, text]) => text)).toContain('They spoke of openings.')
    expect(readLast().slice(3, 6)).toEqual(whole.slice(3))

    await summary.getByRole('button', { name: 'Undo and send all again' }).click()
    await summary.getByText('all messages are sent again').waitFor()
    await ask('Ten?')
    expect(readLast().filter(([role]) => role === 'user')).toHaveLength(10)
    expect(JSON.stringify(readLast())).not.toContain('spoke')
    await summary.getByRole('button', { name: 'Use the summary' }).click()
    await summary.getByText('It is sent in place of them.').waitFor()
    const again = page.getByRole('button', { name: 'Answer again' })
    await again.last().click()
    await expect.poll(() => versions.count()).toBe(2)
    await chat.answered()
    expect(readLast().filter(([role]) => role === 'user')).toHaveLength(5)

    await again.first().click()
    await expect.poll(() => versions.count()).toBe(1)
    await chat.answered()
    expect(readLast().map(([, text]) => text)).toEqual(['You help with chess.', long('One')])
    expect(await summary.count()).toBe(0)
    await press('Previous version')
    await summary.waitFor()
  })

  test('counts what is not loaded, and says so until it has read that', async () => {
    await using chat = await open('dora')
    const { page } = chat
    await chat.ask('chess '.repeat(33).trim())
    await page.getByText('Aye.').waitFor()
    await svc.rows(
      `with latest as (update conversations set last_seq = 62 where id = (select max(id) from conversations) returning id)
        insert into conversation_messages (conversation_id, seq, role, content, is_complete, bytes, created_at, updated_at)
        select m.conversation_id, 2 + n, role, content, true, bytes, now(), now()
          from conversation_messages m join latest on latest.id = m.conversation_id, generate_series(1, 60) n
          where role = 'user'`,
    )
    const held = Promise.withResolvers<void>()
    await page.route('**/trpc/*conversations.messages*', async (route) => {
      if (route.request().url().includes('before')) await held.promise
      await route.continue()
    })
    await page.reload()
    await page.getByText(/This chat takes at least 6\d% of what Small can read/).waitFor()
    await expect.poll(() => chat.messages().count()).toBe(50)
    held.resolve()
    await page.getByText(/This chat takes 7\d% of what Small can read/).waitFor()
    expect(await chat.messages().count()).toBe(50)
  })

  test('that a provider refuses is summarised, and the question is answered then', async () => {
    await using chat = await open('ben')
    const { page, ask, readLast, summary, summariseButton, press } = chat
    await page.getByRole('combobox', { name: 'Model: Small' }).click()
    await page.getByRole('option', { name: /Summariser/ }).click()
    for (const word of ['One', 'Two', 'Three']) await ask(long(word))
    await chat.sendQuestion(long('Four'))
    await page.getByText('This chat is more than Summariser can read at once.').waitFor()
    await expectAccessible(page)
    const written = Promise.withResolvers<void>()
    summarise = async (request, response) => {
      await written.promise
      await answers('They spoke of chess.')(request, response)
    }
    await summariseButton.click()
    await page.getByText('is being summarised').waitFor()
    await expect.poll(() => page.getByRole('button', { name: 'Try again' }).isDisabled()).toBe(true)
    const field = page.getByRole('textbox', { name: 'Message' })
    await waitForFocus(field)
    await page.getByRole('button', { name: 'Stop summarising' }).press('Enter')
    await page.getByText('is being summarised').waitFor({ state: 'detached' })
    await waitForFocus(field)
    expect(await summary.count()).toBe(0)
    await summariseButton.press('Enter')
    await page.getByText('is being summarised').waitFor()
    written.resolve()
    await summary.waitFor()
    await expect
      .poll(() => readLast().map(([role, text]) => [role, text.slice(0, 20)]))
      .toEqual([
        ['user', 'Summarise our chat s'],
        ['assistant', 'They spoke of chess.'],
        ['user', long('Four').slice(0, 20)],
      ])
    await chat.answered()
    await page.reload()
    await summary.waitFor()
    expect(await page.getByText('No answer has come').count()).toBe(0)

    await chat.sendQuestion(long('Five').repeat(9))
    await page.getByText('This chat is more than').waitFor()
    await summariseButton.click()
    await page.getByText('Shorten its text, or choose another model.').waitFor()
    await press('Edit question')
    await page.getByRole('textbox', { name: 'Edit question' }).waitFor()
  })

  test("sends a long file's beginning, names files read long ago, and rereads them", async () => {
    await using chat = await open('cora')
    const { page, ask, readLast, attach, press } = chat
    await attach({ 'novel.txt': 'page '.repeat(5000) })
    await chat.sendQuestion('Who did it?')
    await page.getByText('Most of it is the file “novel.txt”.').waitFor()
    await expectAccessible(page)
    await press('Send the beginning of the file')
    await page.getByRole('link', { name: 'Beginning of novel.txt' }).waitFor()
    await page.getByText('Aye.').waitFor()
    await chat.answered()
    expect(JSON.stringify(readLast()).match(/page /g)?.length).toBeGreaterThan(2000)

    await ask('And why?')
    const named = page.getByText('Read long ago: the model now gets only the name.')
    await named.waitFor()
    await ask('And how?')
    expect(JSON.stringify(readLast())).toContain('[The file “Beginning of novel.txt” was read earlier')
    expect(JSON.stringify(readLast())).not.toContain('page page')
    await press('Read again')
    await page.getByText('Ready to send').waitFor()
    await expectAccessible(page)
    await ask('Tell me again.')
    expect(readLast().at(-1)?.[1]).toContain('page page')
    expect(readLast()[0]?.[1]).not.toContain('page page')
  })
})
