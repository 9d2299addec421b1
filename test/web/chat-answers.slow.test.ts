import { readFile } from 'node:fs/promises'
import type { Locator } from 'playwright-core'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import {
  answers,
  beginStream,
  behavesInTurn,
  breaksOff,
  buildChunk,
  callsTool,
  endStream,
  neverEnds,
  refuses,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { startToolServer } from '../kit/mcp/tool-server.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForFocus } from '../kit/web/pages.ts'

describeWith('chromium')('the answers of a chat', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let chat: Awaited<ReturnType<typeof openChat>>

  beforeAll(async () => {
    const server = resources.use(await startToolServer())
    upstream = resources.use(await startProvider())
    const mcpServers = [{ label: 'Mail', url: server.url, requireApproval: 'always' }]
    const models = [
      {
        id: 'mock-1',
        label: 'First',
        tools: ['mail_echo'],
        pricing: { currency: 'EUR', inputPerMillion: 1000, outputPerMillion: 1000 },
      },
      { id: 'mock-2', label: 'Second' },
    ]
    const provider = { models, circuit: { failures: 1_000_000 } }
    const config = resources.use(await writeConfig(upstream.url, { provider, more: { mcpServers } }))
    svc = resources.use(await startApp({ AI_CONFIG: config.file }))
    await svc.host.mcp.sync()
    const [known] = await svc.host.mcp.tools()
    await svc.host.mcp.approve({ name: 'mail_echo', hash: known?.hash ?? '' })
    chat = resources.use(await openChat(svc, 'ada'))
  })
  afterAll(() => resources.disposeAsync())

  beforeEach(async () => {
    upstream.behave = answers('Good day.')
    upstream.requests.length = 0
    await chat.page.goto('/chat')
  })

  const article = (text: string) => chat.page.getByRole('article').filter({ hasText: text })

  test('an answer that is stopped ends at the provider and offers to go on', async () => {
    const { page } = chat
    upstream.behave = neverEnds
    await chat.sendQuestion('Count')
    await page.getByText('more more').waitFor()

    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByText('You stopped this answer.').waitFor()
    await expect.poll(() => upstream.requests[0]?.abortedAt).toBeDefined()
    upstream.behave = answers('and done.')
    await page.getByRole('button', { name: 'Continue' }).click()

    await article('and done.').waitFor()
    await chat.answered()
    expect(await chat.messages().count()).toBe(2)
    expect(await page.getByText('You stopped this answer.').count()).toBe(0)
  })

  test('an interrupted answer keeps its text, and can be retried', async () => {
    const { page } = chat
    upstream.behave = behavesInTurn(breaksOff('error'), answers('All of it.'))
    await chat.sendQuestion('Break off')
    await page.getByText('The answer broke off, or could not be read.').waitFor()
    expect(await article('Half an').count()).toBe(1)

    await page.getByRole('button', { name: 'Try again' }).click()

    await article('All of it.').waitFor()
    await chat.answered()
  })

  test('a refusal stands where the answer would, and the question stays', async () => {
    const { page } = chat
    upstream.behave = refuses(429)
    await chat.sendQuestion('Too much?')

    await page.getByText('The provider is getting too many requests.').waitFor()
    expect(await article('Too much?').count()).toBe(1)
    await expectAccessible(page)
  })

  test('an edited question and a repeated answer stand beside the earlier ones', async () => {
    const { page } = chat
    upstream.behave = behavesInTurn(answers('Answer one.'), answers('Answer two.'), answers('Answer three.'))
    await chat.sendQuestion('How many?')
    await article('Answer one.').waitFor()
    await chat.answered()

    await page.getByRole('button', { name: 'Answer again' }).click()
    await article('Answer two.').waitFor()
    await chat.answered()
    expect(await chat.messages().count()).toBe(2)
    await page.getByRole('button', { name: 'Edit question' }).click()
    await page.getByRole('textbox', { name: 'Edit question' }).fill('How few?')
    await page.getByRole('button', { name: 'Send again' }).dblclick()
    await article('Answer three.').waitFor()
    await chat.answered()

    expect(upstream.requests.at(-1)?.body.messages.map(({ content }) => content)).toEqual(['How few?'])
    await page.reload()
    await article('Answer three.').waitFor()
    await page.getByRole('button', { name: 'Previous version' }).click()
    await article('Answer two.').waitFor()
    expect(await article('How many?').count()).toBe(1)
    await page.getByRole('button', { name: 'Previous version' }).last().click()
    await article('Answer one.').waitFor()
    expect(await page.getByText('1 of 2').count()).toBe(2)
  })

  test('the shown branch stays after a reload, saved and imported with the others', async () => {
    const { page } = chat
    upstream.behave = (request, response) =>
      answers(`About ${request.body.messages.at(-1)?.content}.`)(request, response)
    await chat.sendQuestion('first wording')
    await article('About first wording.').waitFor()
    await chat.answered()
    await page.getByRole('button', { name: 'Edit question' }).click()
    await page.getByRole('textbox', { name: 'Edit question' }).fill('second wording')
    await page.getByRole('button', { name: 'Send again' }).click()
    await article('About second wording.').waitFor()
    await chat.answered()
    await page.getByRole('button', { name: 'Previous version' }).click()
    await article('About first wording.').waitFor()

    await page.reload()
    await article('About first wording.').waitFor()
    expect(await article('second wording').count()).toBe(0)
    expect(await saveConversation('Save as Markdown')).not.toContain('second wording')
    await chat.sendQuestion('what follows')
    await article('About what follows.').waitFor()
    await chat.answered()
    expect(upstream.requests.at(-1)?.body.messages[0]?.content).toBe('first wording')
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByRole('article').filter({ hasText: 'About what follows.' }).waitFor()
    await other.close()

    const original = new URL(page.url()).pathname
    const saved = await saveConversation('Save as JSON')
    await page.getByRole('link', { name: 'Import chats' }).click()
    const chosen = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Choose an export' }).click()
    await (await chosen).setFiles({ name: 'saved.json', mimeType: 'application/json', buffer: Buffer.from(saved) })
    await page.getByText('One chat was imported.').waitFor()
    // The list has the copy a moment later, beside the original.
    const copy = page.locator(`:not([href="${original}"])`)
    await page.getByRole('link', { name: 'first wording', exact: true }).and(copy).first().click()
    await article('About what follows.').waitFor()
    await page
      .getByRole('button', { name: /version$/ })
      .and(page.locator(':enabled'))
      .click()
    await article('About second wording.').waitFor()

    await svc.rows(
      `update conversation_messages set content = 'aXY=|dGFn|dGV4dA==' where role = 'assistant'
        and conversation_id = (select id from conversations where slug = $1)`,
      [new URL(page.url()).pathname.split('/').at(-1)],
    )
    await page.reload()
    await page.getByText('This message cannot be opened with your key.').first().waitFor()
    expect(await saveConversation('Save as Markdown')).toContain('*This message cannot be opened with your key.*')
    const unreadable = Buffer.from(await saveConversation('Save as JSON'))
    await page.getByRole('link', { name: 'Import chats' }).click()
    const chosenAgain = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Choose an export' }).click()
    await (await chosenAgain).setFiles({ name: 'saved.json', mimeType: 'application/json', buffer: unreadable })
    await page.getByText(/“first wording”: \d messages? could not be read/).waitFor()
  })

  /** Saves the conversation that is shown, and returns the content of the file. */
  async function saveConversation(item: string): Promise<string> {
    const { page } = chat
    await page.locator('li:has([aria-current="page"])').getByRole('button').click()
    const download = page.waitForEvent('download')
    await page.getByRole('menuitem', { name: item }).click()
    return readFile(await (await download).path(), 'utf8')
  }

  /** Opens a conversation of 122 messages, of which the page shows the last 50. */
  async function openLongConversation(): Promise<void> {
    await chat.sendQuestion('Once')
    await article('Good day.').waitFor()
    await chat.answered()
    await svc.rows(
      `with latest as (update conversations set last_seq = 122 where id = (select max(id) from conversations) returning id)
        insert into conversation_messages (conversation_id, seq, role, model, content, is_complete, bytes, created_at, updated_at)
        select m.conversation_id, seq + 2 * n, role, model, content, true, bytes, now(), now()
          from conversation_messages m join latest on latest.id = m.conversation_id, generate_series(1, 60) n`,
    )
    await chat.page.reload()
    await expect.poll(() => chat.messages().count()).toBe(50)
  }

  test('a model gets the whole history, however little of it is loaded', async () => {
    const { page } = chat
    await openLongConversation()
    const countSent = () => upstream.requests.at(-1)?.body.messages.length

    await page.getByRole('button', { name: 'Edit question' }).first().click()
    await page.getByRole('textbox', { name: 'Edit question' }).fill('Twice')
    await page.getByRole('button', { name: 'Send again' }).click()
    await expect.poll(countSent).toBe(73)
    await chat.answered()
    await page.reload()
    await article('Twice').waitFor()
    await chat.sendQuestion('And now?')

    await expect.poll(countSent).toBe(75)
    await chat.answered()
  })

  test('earlier messages of a question stay hidden, and reading them can be stopped', async () => {
    const { page } = chat
    await openLongConversation()
    upstream.requests.length = 0
    await page.route('**/trpc/*conversations.messages*', () => {})

    await chat.sendQuestion('And now?')
    await page.getByRole('button', { name: 'Stop' }).click()

    await chat.answered()
    expect(await chat.messages().count()).toBe(51)
    expect(upstream.requests).toEqual([])
    await page.unroute('**/trpc/*conversations.messages*')
  })

  test('an answer whose question cannot be read says so, and is answered again afterwards', async () => {
    const { page } = chat
    await openLongConversation()
    // The page begins with an answer then.
    await svc.rows(
      'delete from conversation_messages where seq = 122 and conversation_id = (select max(id) from conversations)',
    )
    await page.reload()
    await expect.poll(() => chat.messages().count()).toBe(50)
    const earlier = '**/trpc/*conversations.messages*'
    await page.route(earlier, (route) => route.abort())
    // Earlier messages may come before it meanwhile.
    const answer = page.locator(`[id="${await chat.messages().first().getAttribute('id')}"]`)

    await answer.getByRole('button', { name: 'Answer again' }).click()
    await answer.getByText('The service cannot be reached.').waitFor()
    await expectAccessible(page)
    await page.unroute(earlier)
    upstream.behave = answers('Answer two.')
    await answer.getByRole('button', { name: 'Answer again' }).click()

    await article('Answer two.').waitFor()
    await chat.answered()
  })

  test('another answer ends the one that streams into the conversation', async () => {
    const { page } = chat
    upstream.behave = behavesInTurn(answers('Answer one.'), neverEnds, answers('Answer two.'))
    await chat.sendQuestion('First')
    await article('Answer one.').waitFor()
    await chat.answered()
    await chat.sendQuestion('Second')
    await page.getByText('more more').waitFor()

    await page.getByRole('button', { name: 'Answer again' }).click()

    await article('Answer two.').waitFor()
    await chat.answered()
    await expect.poll(() => upstream.requests[1]?.abortedAt).toBeDefined()
    expect(await article('Answer two.').count()).toBe(1)
    await page.getByRole('button', { name: 'Previous version' }).click()
    await article('You stopped this answer.').waitFor()
  })

  test('a first question that could not be sent is sent into the same conversation', async () => {
    const { page } = chat
    const countConversations = async () => (await svc.rows('select id from conversations')).length
    const before = await countConversations()
    const sending = '**/trpc/conversations.sendMessage**'
    await page.route(sending, (route) => route.abort())
    await chat.sendQuestion('Lost?')
    await page.getByText('The service cannot be reached.').waitFor()
    await page.unroute(sending)

    await page.getByRole('button', { name: 'Send', exact: true }).click()

    await article('Good day.').waitFor()
    await chat.answered()
    expect(await countConversations()).toBe(before + 1)
  })

  test('a question goes to the model that was chosen, which is kept', async () => {
    const { page } = chat
    await page.getByRole('combobox', { name: /^Model/ }).click()
    await page.getByRole('combobox', { name: 'Search models' }).fill('sec')
    await page.getByRole('option', { name: /Second/ }).click()
    await chat.sendQuestion('Hello')
    await article('Good day.').waitFor()
    await chat.answered()

    expect(upstream.requests[0]?.body.model).toBe('mock-2')
    await page.goto('/chat')
    await page.getByRole('combobox', { name: 'Model: Second' }).waitFor()
    await page.evaluate('localStorage.clear()')
  })

  test("a tool's approval request shows its input, and runs it once between the texts", async () => {
    const { page } = chat
    const call = {
      index: 0,
      id: 'call-1',
      type: 'function',
      function: { name: 'mail_echo', arguments: '{"text":"to Bob"}' },
    }
    upstream.behave = (request, response) => {
      if (request.body.messages.some(({ role }) => role === 'tool'))
        return answers('The mail is sent.')(request, response)
      beginStream(response)
      response.write(buildChunk({ delta: { content: 'I write it.' } }))
      response.write(buildChunk({ delta: { tool_calls: [call] } }))
      response.write(buildChunk({ delta: {}, finish_reason: 'tool_calls' }))
      response.end('data: [DONE]\n\n')
    }
    await chat.sendQuestion('Write to Bob')
    const question = page.getByRole('region', { name: /May the model use “Mail echo”/ })
    await question.waitFor()
    await question.getByText('to Bob').waitFor()
    await expectAccessible(page)

    await question.getByRole('button', { name: 'Allow once' }).click()

    const inOrder = /I write it\..*used “Mail echo”.*The mail is sent\./s
    await article('The mail is sent.').waitFor()
    await chat.answered()
    expect(await article('The mail is sent.').innerText()).toMatch(inOrder)
    await page.reload()
    await page.getByText('used “Mail echo”').click()
    expect(await article('The mail is sent.').innerText()).toMatch(inOrder)
    expect(await saveConversation('Save as Markdown')).toContain(
      'I write it.\n\n> The model used “Mail echo”\n\nThe mail is sent.\n',
    )
    const step = page.getByRole('group').filter({ hasText: 'used “Mail echo”' })
    await step.getByText('to Bob').waitFor()
    await step.getByText('Result').waitFor()
    expect(await step.textContent()).toContain('Mail')
    await expectAccessible(page)
  })

  test('a refused tool says so, and one allowed for a conversation asks once', async () => {
    const { page } = chat
    upstream.behave = callsTool('mail_echo', '{"text":"to Eve"}', 'Then not.')
    await chat.sendQuestion('Write to Eve')
    await page.getByRole('button', { name: "Don't allow" }).click()
    await article('Then not.').waitFor()
    await chat.answered()
    await page.getByText('“Mail echo” was not allowed').waitFor()

    upstream.behave = callsTool('mail_echo', '{"text":"to Bob"}', 'Sent to Bob.')
    await page.goto('/chat')
    await chat.sendQuestion('Write to Bob')
    await page.getByRole('button', { name: 'Allow in this chat' }).click()
    await article('Sent to Bob.').waitFor()
    await chat.answered()
    // The provider calls no tool after a tool result.
    upstream.behave = (request, response) => {
      const { messages } = request.body
      const last = { ...request, body: { ...request.body, messages: messages.slice(-1) } }
      return callsTool('mail_echo', '{"text":"again"}', 'Sent once more.')(last, response)
    }
    await chat.sendQuestion('And again')

    await article('Sent once more.').waitFor()
    await chat.answered()
    expect(await page.getByText('used “Mail echo”').count()).toBe(2)
  })

  test('thoughts are folded away, and sources stand below the answer', async () => {
    const { page } = chat
    upstream.behave = (_, response) => {
      beginStream(response)
      response.write(buildChunk({ delta: { reasoning_content: 'First I **think**.' } }))
      response.write(buildChunk({ delta: { content: 'It is e4.' } }))
      const citation = { url: 'https://chess.example.org/e4', title: 'Openings', start_index: 0, end_index: 5 }
      response.write(buildChunk({ delta: { annotations: [{ type: 'url_citation', url_citation: citation }] } }))
      endStream(response)
    }
    await chat.sendQuestion('Which move?')
    await article('It is e4.').waitFor()
    await chat.answered()

    const thoughts = page.locator('details')
    expect(await thoughts.getByText('think', { exact: true }).isVisible()).toBe(false)
    await thoughts.getByText(/^Thought for/).click()
    expect(await thoughts.locator('strong').textContent()).toBe('think')
    const source = page.getByRole('region', { name: 'Sources' }).getByRole('link', { name: 'Openings' })
    expect(await source.getAttribute('href')).toBe('https://chess.example.org/e4')
    await expectAccessible(page)
  })

  test('an answer keeps its element when it ends or fails', async () => {
    const { page } = chat
    const { promise: isMarked, resolve } = Promise.withResolvers<void>()
    upstream.behave = async (_, response) => {
      beginStream(response)
      response.write(buildChunk({ delta: { content: 'Begun' } }))
      await isMarked
      response.destroy()
    }
    await chat.sendQuestion('Mark it')
    await article('Begun').waitFor()
    await page.evaluate("document.querySelector('article .markdown').dataset.mark = 'same'")

    resolve()

    await page.getByRole('button', { name: 'Try again' }).waitFor()
    await page.getByText('This answer was interrupted.').waitFor()
    expect(await page.getByRole('article', { name: 'Message from First' }).count()).toBe(1)
    expect(await page.locator('[data-mark="same"]').textContent()).toBe('Begun')
  })

  test('what an answer took and cost is told on demand', async () => {
    const { page } = chat
    await chat.sendQuestion('How much?')
    await article('Good day.').waitFor()
    await chat.answered()
    expect(await page.getByText('tokens read').count()).toBe(0)

    await page.getByRole('button', { name: 'More' }).last().click()

    await page.getByText('7 tokens read, 3 written, €0.01').waitFor()
    await page.reload()
    await article('Good day.').waitFor()
    await page.getByRole('button', { name: 'More' }).last().click()
    await page.getByText('7 tokens read, 3 written, €0.01').waitFor()
  })

  test('the mark of a footnote leads to it', async () => {
    const { page } = chat
    const text = `Known[^a], and more[^b].\n\n${'A line.\n\n'.repeat(60)}[^a]: First note.\n[^b]: Second note.`
    upstream.behave = answers(text, [text])
    await chat.sendQuestion('Why?')
    await chat.answered()

    await page.getByRole('link', { name: 'Footnote 2' }).click()

    const note = page.getByRole('listitem').filter({ hasText: 'Second note.' })
    await waitForFocus(note)
    expect(page.url()).not.toContain('#')
    await expectAccessible(page)
  })

  test("an answer is read aloud as shown, by the computer's voice, until stopped", async () => {
    const { page } = chat
    // A browser without a window has no voice.
    await page.addInitScript(`
      SpeechSynthesisUtterance = class { constructor(text) { this.text = text } }
      Object.defineProperty(window, 'speechSynthesis', { value: Object.assign(new EventTarget(), {
        speaking: false, spoken: [], voices: [{ lang: 'en-US', localService: false }],
        getVoices() { return this.voices },
        speak({ text, voice }) { this.speaking = true; this.spoken.push([text, voice.name]) },
        cancel() { this.speaking = false },
      }) })`)
    await page.reload()
    const text =
      'It is **bold**, see [this](https://example.org/long?q=1).\n\n```js\ncode\n```\n\n| a | $x$ |\n|--|--|\n| 3 * 4 | &rarr; |'
    upstream.behave = answers(text, [text])
    await chat.sendQuestion('Say it')
    await article('It is bold').waitFor()
    await chat.answered()
    await page.getByRole('button', { name: 'More' }).last().click()
    await page.getByRole('menuitem', { name: 'Quote' }).waitFor()
    expect(await page.getByRole('menuitem', { name: 'Read aloud' }).count()).toBe(0)
    await page.keyboard.press('Escape')
    await page.evaluate(`{
      speechSynthesis.voices.push({ lang: 'de-DE', localService: true, name: 'Here' })
      speechSynthesis.dispatchEvent(new Event('voiceschanged'))
    }`)
    const readAloud = async () => {
      await page.getByRole('button', { name: 'More' }).last().click()
      await page.getByRole('menuitem', { name: 'Read aloud' }).click()
    }

    await readAloud()
    const spoken = ['It is bold, see this.\nCode block.\na, formula\n3 * 4, →', 'Here']
    await expect.poll(() => page.evaluate('speechSynthesis.spoken')).toEqual([spoken])
    await readAloud()
    await expect.poll(() => page.evaluate('speechSynthesis.speaking')).toBe(false)
    expect(await page.evaluate('speechSynthesis.spoken.length')).toBe(1)
    await readAloud()
    await expect.poll(() => page.evaluate('speechSynthesis.speaking')).toBe(true)
    await page.getByRole('link', { name: 'New chat' }).click()
    await expect.poll(() => page.evaluate('speechSynthesis.speaking')).toBe(false)
  })

  test('formulas that are copied with the text around them are TeX', async () => {
    const { page } = chat
    const text = 'It is $x^2$ here.\n\n$$\\frac12$$\n\nEnd.'
    upstream.behave = answers(text, [text])
    await chat.sendQuestion('Which formula?')
    await expect.poll(() => page.locator('.katex-html').count()).toBe(2)
    await chat.answered()

    const copied = await page.evaluate(`{
      getSelection().selectAllChildren(document.querySelector('article .markdown'))
      const clipboardData = new DataTransfer()
      document.dispatchEvent(new ClipboardEvent('copy', { clipboardData, cancelable: true }))
      clipboardData.getData('text/plain')
    }`)

    const copiedInField = await page.evaluate(`{
      const field = document.body.appendChild(document.createElement('input'))
      const clipboardData = new DataTransfer()
      field.dispatchEvent(new ClipboardEvent('copy', { clipboardData, bubbles: true, cancelable: true }))
      field.remove()
      clipboardData.getData('text/plain')
    }`)

    expect(copiedInField).toBe('')
    expect(copied).toMatch(/^It is \$x\^2\$ here\.\s+\$\$\\frac12\$\$\s+End\.$/)
  })

  test('diagrams and pictures are shown, enlarged and saved, and tables copied as CSV', async () => {
    const { page, complaints, requests } = chat
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write'])
    const picture = 'data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7'
    const diagram =
      'flowchart LR\n  A[Ask<img src=https://evil.example/1>] --> B[Answer] --> C[Read] --> D[Think] --> E[Write] --> F[Send]\n  click A href "https://evil.example"'
    const text = `\`\`\`mermaid\n${diagram}\n\`\`\`\n\n![Dot](${picture})\n\n| a | b |\n|---|---|\n| 1;2 | =3 |`
    upstream.behave = answers(text, [text])
    requests.length = 0
    await chat.sendQuestion('Draw it')
    await chat.answered()
    const before = complaints.length
    const dialog = page.getByRole('dialog')
    const save = async (button: Locator) => {
      const download = page.waitForEvent('download')
      await button.click()
      return (await download).suggestedFilename()
    }
    expect(requests.filter(({ url }) => url.endsWith('/chat-diagram'))).toEqual([])

    await page.getByRole('button', { name: 'Show as picture' }).click()
    await page.frameLocator('iframe').locator('svg').getByText('Answer').waitFor()
    expect(await page.frameLocator('iframe').locator('img, a[href*="evil"]').count()).toBe(0)
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Enlarge' }).first().click()
    await dialog.frameLocator('iframe').locator('svg').getByText('Answer').waitFor()
    const size = page.viewportSize()
    await page.setViewportSize({ width: 360, height: 740 })
    const area = dialog.getByRole('region')
    await expect.poll(() => area.evaluate(({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)).toBe(true)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await expectAccessible(page)
    if (size) await page.setViewportSize(size)
    expect(await save(dialog.getByRole('button', { name: 'Save' }))).toBe('diagram.svg')
    await dialog.getByRole('button', { name: 'Close' }).click()

    await page.getByRole('button', { name: 'Dot' }).click()
    await dialog.getByRole('img', { name: 'Dot' }).waitFor()
    expect(await save(dialog.getByRole('button', { name: 'Save' }))).toBe('picture.gif')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Copy table as CSV' }).click()
    await expect.poll(() => page.evaluate('navigator.clipboard.readText()')).toBe('a,b\r\n"1;2",\'=3')
    expect(requests.filter(({ url }) => url.includes('evil'))).toEqual([])
    expect(complaints.slice(before)).toEqual([])
  })

  test('a diagram or a preview that does not load is replaced by a sentence', async () => {
    await using own = await openChat(svc, 'slow')
    const { page } = own
    const long = `flowchart LR\n${'  A --> B\n'.repeat(3000)}`
    const text = `\`\`\`mermaid\nflowchart LR\n  A --> B\n\`\`\`\n\n\`\`\`html\n<p>Good</p>\n\`\`\`\n\n\`\`\`mermaid\n${long}\`\`\``
    upstream.behave = answers(text, [text])
    await own.sendQuestion('Draw it')
    await own.answered()
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.frameLocator('iframe').getByText('Good').waitFor()
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.route(/chat-(preview|diagram)$/, (route) => route.abort())
    await page.clock.install()

    await page.getByRole('button', { name: 'Preview' }).click()
    for (const button of await page.getByRole('button', { name: 'Show as picture' }).all()) await button.click()
    await page.getByText('This diagram has more than 20,000 characters').waitFor()
    await expect.poll(() => page.locator('iframe').count()).toBe(2)
    await expect.poll(() => page.getByRole('button', { name: 'Save' }).first().isDisabled()).toBe(true)
    await page.clock.fastForward(31_000)

    await page.getByText('This diagram cannot be drawn.').waitFor()
    await page.getByText('This preview could not be loaded.').waitFor()
  })

  test('drafts survive a reload per conversation, and never in clear text', async () => {
    const { page } = chat
    const field = page.getByRole('textbox', { name: 'Message' })
    const countDrafts = () =>
      page.evaluate<number>('Object.keys(localStorage).filter((key) => key.startsWith("svc:draft")).length')
    await chat.sendQuestion('Begin')
    await article('Good day.').waitFor()
    await chat.answered()
    const before = await countDrafts()
    await field.fill('half a thought')
    await expect.poll(countDrafts).toBe(before + 1)

    await page.reload()
    await expect.poll(() => field.inputValue()).toBe('half a thought')
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('half')
    await page.getByRole('link', { name: 'New chat' }).click()
    await expect.poll(() => field.inputValue()).toBe('')
    await page.goBack()
    await expect.poll(() => field.inputValue()).toBe('half a thought')
  })

  test('a session that ends while somebody writes loses nothing', async () => {
    await using own = await openChat(svc, 'ben')
    const { page } = own
    const cookies = await page.context().cookies()
    await page.getByRole('textbox', { name: 'Message' }).fill('Not lost')
    await page.context().clearCookies()

    // Another request may have noticed the end of the session before.
    await page.evaluate("document.querySelector('form').requestSubmit()")
    await page.getByRole('alertdialog', { name: 'Your session has ended' }).waitFor()
    await expectAccessible(page)
    await page.context().addCookies(cookies)
    await page.getByRole('button', { name: 'I have signed in' }).click()
    await page.getByRole('alertdialog').waitFor({ state: 'detached' })

    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Not lost')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Good day.').waitFor()
  })

  test('text and files added while a question is sent stay in the composer', async () => {
    const { page } = chat
    const field = page.getByRole('textbox', { name: 'Message' })
    await chat.sendQuestion('Begin')
    await article('Good day.').waitFor()
    await chat.answered()
    const { promise: isReleased, resolve: release } = Promise.withResolvers<void>()
    const sending = '**/trpc/conversations.sendMessage**'
    await page.route(sending, async (route) => {
      await isReleased
      await route.continue()
    })

    await chat.sendQuestion('And then?')
    await field.fill('And after that?')
    const chosen = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles({ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Added later') })
    await page.getByRole('list', { name: 'Files' }).getByText('notes.txt').waitFor()
    release()

    await article('And then?').waitFor()
    await chat.answered()
    expect(await field.inputValue()).toBe('And after that?')
    expect(await page.getByRole('list', { name: 'Files' }).getByText('notes.txt').count()).toBe(1)
    await page.unroute(sending)
  })

  test('another tab shows what is asked in this one, which reads nothing back', async () => {
    const { page } = chat
    await chat.sendQuestion('In the first tab')
    await article('Good day.').waitFor()
    await chat.answered()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByRole('article').filter({ hasText: 'In the first tab' }).waitFor()

    chat.requests.length = 0
    await chat.sendQuestion('And once more')

    await other.getByText('And once more').waitFor()
    await expect.poll(() => other.getByText('Good day.').count()).toBe(2)
    await chat.answered()
    expect(chat.requests.filter(({ url }) => url.includes('conversations.messages'))).toEqual([])
    await other.close()
  })
})
