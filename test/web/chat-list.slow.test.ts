import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'

/** Keeps the ten seconds from passing in which a deletion can be undone: a reload may take longer on a busy machine. */
function holdUndo(now: number): void {
  const { setTimeout } = globalThis
  const patient = (run: () => void, ms = 0) => setTimeout(run, ms > 5000 ? 600_000 : ms)
  Object.assign(globalThis, { setTimeout: patient })
  Date.now = () => now
}

describeWith('chromium')('the list of conversations', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  beforeAll(async () => {
    svc = resources.use(await startApp())
  })
  afterAll(() => resources.disposeAsync())

  const insert = (account: string, count: number, name = "'Chat ' || n") =>
    svc.rows(
      `insert into conversations (user_id, slug, name, created_at, updated_at)
        select u.id, '${account}' || lpad(n::text, ${16 - account.length}, '0'), ${name}, now(), now() - n * interval '1 hour'
          from users u, generate_series(1, ${count}) n where username = '${account}'`,
    )

  test('a conversation is renamed, pinned, put in a folder, deleted and taken back', async () => {
    await using chat = await openChat(svc, 'ada')
    const { page } = chat
    await insert('ada', 2)
    await page.addInitScript(holdUndo, Date.now())
    await page.reload()
    const list = page.getByRole('navigation', { name: 'Conversations' })
    const choose = async (name: string, what: string) => {
      await list.getByRole('button', { name: `Options for ${name}` }).click()
      await page.getByRole('menuitem', { name: what, exact: true }).click()
    }

    await choose('Chat 1', 'Rename')
    const dialog = page.getByRole('dialog')
    await dialog.getByText('the name is not encrypted').waitFor()
    await expectAccessible(page)
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Budget')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await list.getByRole('link', { name: 'Budget' }).waitFor()
    await choose('Budget', 'Pin')
    await list.getByRole('heading', { name: 'Pinned' }).waitFor()
    await choose('Chat 2', 'Move to a folder')
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Office')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await list.getByRole('button', { name: /^Office/ }).click()
    await list.getByRole('link', { name: 'Chat 2' }).waitFor()
    await expectAccessible(page)
    await choose('Chat 2', 'Delete')
    await page.getByText('Deleted «Chat 2».').waitFor()
    await expect.poll(() => list.getByRole('link', { name: 'Chat 2' }).count()).toBe(0)
    await page.reload()
    await page.getByRole('button', { name: 'Undo' }).click()

    await list.getByRole('button', { name: /^Office/ }).click()
    await list.getByRole('link', { name: 'Chat 2' }).waitFor()
    const stored = await svc.rows(
      `select c.name, is_pinned as pin, folder from conversations c join users u on u.id = c.user_id
        where username = 'ada' order by c.name`,
    )
    expect(stored).toEqual([
      { name: 'Budget', pin: true, folder: null },
      { name: 'Chat 2', pin: false, folder: 'Office' },
    ])
  })

  test('only visible conversations of thousands are rendered, and all can be searched', async () => {
    await using chat = await openChat(svc, 'ben')
    const { page } = chat
    await insert('ben', 3000)
    await page.reload()
    const list = page.getByRole('navigation', { name: 'Conversations' })
    await list.getByRole('link', { name: 'Chat 1', exact: true }).waitFor()
    expect(await list.getByRole('link').count()).toBeLessThan(60)

    await page.getByRole('searchbox', { name: 'Search conversations' }).fill('chat 2777')

    await list.getByRole('link', { name: 'Chat 2777' }).waitFor()
    await expect.poll(() => list.getByRole('link').count()).toBe(1)
  })

  test('what was written is searched in the browser, and forgotten when the session ends', async () => {
    await using chat = await openChat(svc, 'hedi')
    const { page, requests } = chat
    for (const question of ['The ostrich runs', 'The penguin swims']) {
      await page.goto('/chat')
      await chat.sendQuestion(question)
      await page.getByText('You wrote 3 words').waitFor()
      await chat.answered()
    }
    const results = page.getByRole('region', { name: 'In what was written' })
    const search = page.getByRole('searchbox', { name: 'Search conversations' })
    await search.fill('OSTRICH')
    await results.getByText('are opened and searched in this browser').waitFor()
    requests.length = 0

    await results.getByRole('button', { name: 'Search in messages' }).click()
    await results.getByText('Searched in all 2 conversations.').waitFor()
    await expect.poll(() => results.getByRole('listitem').count()).toBe(2)
    expect(page.workers().length).toBe(1)
    await expectAccessible(page)
    await results.getByRole('link').first().click()
    await page.locator('article.found').getByText('ostrich').waitFor()
    expect(requests.some(({ url, body }) => /ostrich/i.test(decodeURIComponent(url + body)))).toBe(false)
    await search.fill('walrus')
    await results.getByText('Nothing was found.').waitFor()

    await page.context().clearCookies()
    await page.getByRole('textbox', { name: 'Message' }).fill('Gone')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('alertdialog').waitFor()
    await expect.poll(() => page.locator('.text-results').getByText('are opened and searched').count()).toBe(1)
  })

  test('a found message is shown even far back and on another branch', async () => {
    await using chat = await openChat(svc, 'ines')
    const { page } = chat
    await chat.sendQuestion('Aardvark')
    await page.getByText('You wrote 1 word').waitFor()
    await chat.answered()
    await page.getByRole('button', { name: 'Edit question' }).click()
    await page.getByRole('textbox', { name: 'Edit question' }).fill('Zebra')
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByRole('article').filter({ hasText: 'word: Zebra' }).waitFor()
    await chat.answered()
    await svc.rows(
      `insert into conversation_messages (conversation_id, seq, role, model, content, is_complete, bytes, created_at, updated_at)
        select m.conversation_id, m.seq + 2 * n, m.role, m.model, m.content, true, m.bytes, now(), now()
          from conversation_messages m join conversations c on c.id = m.conversation_id join users u on u.id = c.user_id,
               generate_series(1, 60) n where u.username = 'ines' and m.seq > 2`,
    )
    await page.reload()
    await page.getByRole('searchbox', { name: 'Search conversations' }).fill('aardvark')
    await page.getByRole('button', { name: 'Search in messages' }).click()

    await page.getByRole('region', { name: 'In what was written' }).getByRole('link').first().click()

    await page.locator('article.found').getByText('Aardvark').waitFor()
    await expect.poll(async () => (await page.locator('article.found').boundingBox())?.y).toBeGreaterThan(0)
    expect(await page.getByText('1 of 2').count()).toBe(1)
  })

  test('a conversation is saved as Markdown and as JSON, opened', async () => {
    await using chat = await openChat(svc, 'cora')
    const { page } = chat
    await chat.sendQuestion('Save me')
    await page.getByText('You wrote 2 words').waitFor()
    await chat.answered()
    const save = async (what: string) => {
      await page.getByRole('button', { name: /^Options for Chat/ }).click()
      const download = page.waitForEvent('download')
      await page.getByRole('menuitem', { name: what }).click()
      const chunks = []
      for await (const chunk of await (await download).createReadStream()) chunks.push(chunk)
      return Buffer.concat(chunks).toString()
    }

    expect(await save('Save as Markdown')).toContain('## You\n\nSave me\n\n## demo\n\nThis is the demo model')
    const { messages } = JSON.parse(await save('Save as JSON'))
    expect(messages.map(({ role, text }: { role: string; text: string }) => [role, text.slice(0, 7)])).toEqual([
      ['user', 'Save me'],
      ['assistant', 'This is'],
    ])
  })

  test.each([
    ['light', 'en-US', 1280],
    ['dark', 'de-DE', 1280],
    ['dark', 'en-US', 360],
    ['light', 'de-DE', 360],
  ] as const)('a newcomer finds their way in %s colours, in %s, %i pixels wide', async (colorScheme, locale, width) => {
    const isGerman = locale === 'de-DE'
    const account = `new-${colorScheme}-${width}`
    await using chat = await openChat(svc, account, { colorScheme, locale, viewport: { width, height: 740 } })
    const { page, complaints } = chat
    await expectAccessible(page)

    await page
      .getByRole('button', { name: isGerman ? 'Was kann diese Seite zeigen?' : 'What can this page show?' })
      .click()
    await page.locator('.formula .katex').first().waitFor()
    await page.locator('.code-keyword').first().waitFor()
    await page.locator('article table').waitFor()
    await page.locator('details.thoughts').waitFor()
    await page.locator('details.tool').getByText('demo_lookup').waitFor()
    await page.getByRole('region', { name: isGerman ? 'Quellen' : 'Sources' }).waitFor()
    await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' })
    const questionTop = async () => (await chat.messages().first().boundingBox())?.y
    await expect.poll(questionTop).toBeGreaterThan(0)
    await expect.poll(questionTop).toBeLessThan(200)
    await expectAccessible(page)
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true)
    if (width < 700) {
      await page.getByRole('button', { name: 'Chats' }).click()
      await page.getByRole('dialog', { name: 'Navigation' }).waitFor()
      await expectAccessible(page)
    }
    expect(complaints).toEqual([])
  })

  test('a conversation of ten thousand messages opens at its end', async () => {
    await using chat = await openChat(svc, 'gina')
    const { page } = chat
    await chat.sendQuestion('Once')
    await page.getByText('You wrote 1 word').waitFor()
    await chat.answered()
    await svc.rows(
      `insert into conversation_messages (conversation_id, seq, role, model, content, is_complete, bytes, created_at, updated_at)
        select m.conversation_id, m.seq + 2 * n, m.role, m.model, m.content, true, m.bytes, now(), now()
          from conversation_messages m join conversations c on c.id = m.conversation_id join users u on u.id = c.user_id,
               generate_series(1, 4999) n where u.username = 'gina'`,
    )

    await page.reload()
    await expect.poll(() => chat.messages().count()).toBe(50)
    await expect.poll(async () => (await chat.messages().last().boundingBox())?.y).toBeLessThan(800)
    await page.getByRole('button', { name: 'Show earlier messages' }).click()

    await expect.poll(() => chat.messages().count()).toBe(100)
    await page.getByRole('button', { name: 'Latest' }).waitFor()
  })

  test('the whole of a chat is done by keyboard alone', async () => {
    await using chat = await openChat(svc, 'dora')
    const { page } = chat
    const field = page.getByRole('textbox', { name: 'Message' })
    await field.focus()
    await page.keyboard.type('First line')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('second line')
    await page.keyboard.press('Enter')
    await page.getByText('You wrote 4 words').waitFor()
    await chat.answered()
    await page.keyboard.press('Control+Shift+O')
    await page.waitForURL(/\/chat$/)

    const debug = await page.context().newCDPSession(page)
    await field.focus()
    await debug.send('Input.imeSetComposition', { text: 'こん', selectionStart: 2, selectionEnd: 2 })
    await page.keyboard.press('Enter')
    expect(page.url()).toMatch(/\/chat$/)
  })

  test('the first view asks for little: eight requests, and 170 KiB of scripts', async () => {
    await using chat = await openChat(svc, 'emil')
    const { page, requests } = chat
    const sizes: number[] = []
    // Changes meanwhile are read again when the page already accepts input.
    await page.route('**/trpc/users.changes**', (route) => route.abort())
    page.on('requestfinished', async (request) => {
      const isScript = request.url().startsWith(`${svc.url}/assets/app/`) && request.url().endsWith('.js')
      if (isScript) sizes.push((await request.sizes()).responseBodySize)
    })
    await (await page.context().newCDPSession(page)).send('Network.clearBrowserCache')
    await page.goto('about:blank')
    requests.length = 0

    await page.goto('/chat')
    await page.getByRole('combobox', { name: 'Model: Demo (not an AI)' }).waitFor()

    const counted = requests.filter(({ url }) => url.startsWith(svc.url) && !url.includes('users.changes'))
    expect(counted.length, counted.map(({ url }) => url).join('\n')).toBeLessThanOrEqual(8)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(170 * 1024)
  })
})
