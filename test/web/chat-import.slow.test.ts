import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import {
  buildGptConversation,
  buildGptTurn,
  buildZipBomb,
  encodeJson,
  libreConversation,
  nestedLibreConversation,
  packZip,
  richConversation,
} from '../kit/web/chat-exports.ts'
import { expectAccessible } from '../kit/web/chromium.ts'

describeWith('chromium')('the import of conversations', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  beforeAll(async () => {
    svc = resources.use(await startApp({ CONVERSATION_MAX_MESSAGES: '500', CONVERSATIONS_PER_PERSON: '60' }))
  })
  afterAll(() => resources.disposeAsync())

  /** Chooses a file on the page for imports. */
  async function choose(page: Page, name: string, buffer: Buffer): Promise<void> {
    if (!page.url().endsWith('/import')) await page.getByRole('link', { name: 'Import chats' }).click()
    const chosen = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Choose an export' }).click()
    await (await chosen).setFiles([{ name, mimeType: 'application/octet-stream', buffer }])
  }

  const list = (page: Page) => page.getByRole('navigation', { name: 'Chats' })
  const stored = (account: string) =>
    svc.rows<{ name: string; isSealed: boolean; messages: number }>(
      `select c.name, sealed_name is not null as "isSealed", message_count as messages
        from conversations c join users u on u.id = c.user_id
        where username = $1 and discarded_at is null order by c.id`,
      [account],
    )

  test("ChatGPT's archive becomes conversations with versions, thoughts, tools and sources, once", async () => {
    await using chat = await openChat(svc, 'ada')
    const { page, complaints } = chat
    const archive = packZip({
      'conversations.json': encodeJson([richConversation, buildGptTurn('other', 'Other things')]),
      'chat.html': Buffer.from('<html></html>'),
      'user.json': encodeJson({ id: 'user-1', email: 'ada@example.org' }),
    })
    await page.getByRole('link', { name: 'Import chats' }).click()
    await page.getByText('There is room for 60 more chats, of 60.').waitFor()
    await expectAccessible(page)

    await choose(page, 'export.zip', archive)
    await page.getByText('2 chats were imported.').waitFor()
    await page.getByText('“user.json” contains no chats.').waitFor()
    await page.getByText('“Standard errors”: one picture or file was left out.').waitFor()
    await expectAccessible(page)
    await choose(page, 'export.zip', archive)
    await page.getByText('2 were there already.').waitFor()

    // The service has dates for names, and ciphertext.
    const name = expect.stringMatching(/^Chat of /)
    expect(await stored('ada')).toEqual([4, 2].map((messages) => ({ name, isSealed: true, messages })))
    const texts = await svc.rows('select content, sealed_name from conversation_messages, conversations')
    expect(JSON.stringify(texts)).not.toMatch(/wording|Standard/)
    await list(page).getByRole('link', { name: 'Other things' }).waitFor()
    await list(page).getByRole('link', { name: 'Standard errors' }).click()
    await page.getByText('Second wording').waitFor()
    expect(await page.locator('article strong').textContent()).toBe('n')
    await page.getByRole('link', { name: 'Errors', exact: true }).waitFor()
    await page.getByText('used “Web.run”').waitFor()
    expect(await page.locator('article').allTextContents()).not.toContain(expect.stringContaining('\uE200'))
    await page.getByRole('button', { name: 'Previous version' }).click()
    await page.getByText('First answer').waitFor()
    expect(complaints).toEqual([])
  })

  test("LibreChat's export is read as a list and as a tree", async () => {
    await using chat = await openChat(svc, 'ben')
    const { page } = chat

    await choose(page, 'letter.json', encodeJson(libreConversation))
    await page.getByText('One chat was imported.').waitFor()
    await choose(
      page,
      'both.zip',
      packZip({ 'a.json': encodeJson(libreConversation), 'b.json': encodeJson(nestedLibreConversation) }),
    )
    await page.getByText('One was there already.').waitFor()
    await page.getByRole('heading', { name: 'both.zip is imported' }).waitFor()

    expect(await stored('ben')).toMatchObject([{ messages: 3 }, { messages: 2 }])
    await list(page).getByRole('link', { name: 'Letter to the dean' }).click()
    await page.getByText('2 of 2').waitFor()
    await list(page).getByRole('link', { name: 'Nested letter' }).click()
    await page.getByText('Nested answer').waitFor()
  })

  test('what is damaged is listed, and the rest is taken', async () => {
    await using chat = await openChat(svc, 'cora')
    const { page } = chat
    const whole = encodeJson([buildGptTurn('1', 'One'), buildGptTurn('2', 'Two'), buildGptTurn('3', 'Three')])
    const circle = buildGptConversation('circle', 'Circle', {
      q: { text: 'Reached' },
      a: { parent: 'b', role: 'assistant', text: 'Never' },
      b: { parent: 'a', text: 'Neither' },
    })
    const strange = buildGptConversation('strange', 'Strange', {
      q: { text: 'Asked' },
      x: { parent: 'q', role: 'oracle', text: 'Lost' },
      a: { parent: 'x', role: 'assistant', text: 'Answered' },
    })
    const long = buildGptConversation(
      'long',
      'Long',
      Object.fromEntries(Array.from({ length: 501 }, (_, at) => [`m${at}`, { text: 'x' }])),
    )
    const files: [string, Buffer, RegExp][] = [
      ['cut.json', whole.subarray(0, whole.length - 300), /“cut.json” is damaged or ends too early/],
      ['cut.zip', packZip({ 'conversations.json': whole }).subarray(0, 200), /“cut.zip” is not a complete ZIP archive/],
      ['page.json', Buffer.from('<html><body>{"a": 1}</body></html>'), /“page.json” contains no chats/],
      ['empty.zip', packZip({ 'readme.txt': Buffer.from('x') }), /“empty.zip” contains no chats/],
      ['circle.json', encodeJson([circle]), /“Circle”: 2 messages could not be read/],
      ['strange.json', encodeJson([strange, 7, { title: 'No messages' }]), /“strange.json”: entry 3 is not a chat/],
      ['bad.json', Buffer.from(`[{"mapping": nonsense}, ${whole.subarray(1)}`), /“bad.json”: chat 1 is damaged/],
      ['long.json', encodeJson([long]), /“Long” has 501 messages, which is more/],
      ['bomb.zip', buildZipBomb('conversations.json', 1000), /“conversations.json” is damaged/],
      ['big.zip', buildZipBomb('conversations.json', 1_174_405_120), /“big.zip” has more than 1 GB unpacked/],
    ]

    for (const [name, buffer, complaint] of files) {
      await choose(page, name, buffer)
      // One of them is unpacked up to a gigabyte.
      await page.getByText(complaint).waitFor({ timeout: 200_000 })
      const hasNone = /^(cut|empty|bomb|big)\.zip$|^(page|long)\.json$/.test(name)
      await page.getByRole('heading', { name: hasNone ? `Nothing of ${name}` : `${name} is imported` }).waitFor()
    }

    await expectAccessible(page)
    await expect
      .poll(() => list(page).getByRole('link').allTextContents())
      .toEqual(expect.arrayContaining(['Circle', 'One', 'Strange', 'Three', 'Two']))
    expect(await stored('cora')).toHaveLength(5)
  })

  test('a stopped import keeps what it stored, and resumes later', async () => {
    await using chat = await openChat(svc, 'dora')
    const { page } = chat
    const archive = encodeJson(Array.from({ length: 70 }, (_, at) => buildGptTurn(`c${at}`, `Chat ${at}`)))
    let calls = 0
    let isHeld = true
    await page.route('**/trpc/conversations.import**', async (route) => {
      if (++calls > 3 && isHeld) return
      await route.continue()
    })

    await choose(page, 'many.json', archive)
    await page.getByText('3 chats were imported.').waitFor()
    await page.getByRole('progressbar', { name: 'Progress of the import' }).waitFor()
    await page.getByRole('link', { name: 'New chat' }).click()
    await page.getByRole('link', { name: 'Import chats' }).click()
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('heading', { name: 'The import of many.json was stopped' }).waitFor()
    isHeld = false
    await choose(page, 'many.json', archive)

    await page.getByText('3 were there already.').waitFor()
    await page.getByRole('heading', { name: 'Not all of many.json could be imported' }).waitFor()
    await page.getByText('57 chats were imported.').waitFor()
    await page.getByRole('alert').waitFor()
    expect((await stored('dora')).length).toBe(60)
  })
})
