import { readFile } from 'node:fs/promises'
import { unzipSync } from 'fflate'
import type { Download, Route } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { builtInLabels } from '../../routers/system/labels/index.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForAddress, waitForFocus } from '../kit/web/pages.ts'

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
    const list = page.getByRole('navigation', { name: 'Chats' })
    const read = Promise.withResolvers<void>()
    await page.route(/conversations\.list/, async (route) => {
      await read.promise
      await route.continue()
    })
    await page.reload()
    await list.locator('[aria-busy=true]').waitFor()
    await expectAccessible(page)
    read.resolve()
    await list.locator('[aria-busy=true]').waitFor({ state: 'detached' })
    const choose = async (name: string, what: string) => {
      await list.getByRole('button', { name: `Options for ${name}` }).click()
      await page.getByRole('menuitem', { name: what, exact: true }).click()
    }

    await choose('Chat 1', 'Rename')
    const dialog = page.getByRole('dialog')
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
    await expect.poll(() => list.getByText('There are no chats yet.').count()).toBe(0)
    await expectAccessible(page)
    await choose('Chat 2', 'Archive')
    await expect.poll(() => list.getByRole('button', { name: /^Office/ }).count()).toBe(0)
    const search = page.getByRole('searchbox', { name: 'Search chats' })
    await search.fill('chat 2')
    await list.getByRole('listitem').filter({ hasText: 'Chat 2' }).getByRole('img', { name: 'Archive' }).waitFor()
    await search.fill('')
    await list.getByRole('button', { name: 'Archive' }).click()
    await list.getByRole('link', { name: 'Chat 2' }).click()
    await page.getByText('This chat is in the archive.').waitFor()
    await expectAccessible(page)
    await page.getByRole('main').getByRole('button', { name: 'Restore' }).click()
    await expect.poll(() => list.getByRole('button', { name: 'Archive' }).count()).toBe(0)
    await list.getByRole('button', { name: /^Office/ }).click()
    await choose('Chat 2', 'Delete')
    await page.getByText('“Chat 2” is deleted.').waitFor()
    await expect.poll(() => list.getByRole('link', { name: 'Chat 2' }).count()).toBe(0)
    await page.reload()
    await page.getByRole('button', { name: 'Undo' }).click()

    await list.getByRole('button', { name: /^Office/ }).click()
    await list.getByRole('link', { name: 'Chat 2' }).waitFor()
    const stored = await svc.rows(
      `select c.name, sealed_name is not null as sealed, is_pinned as pin, folder from conversations c join users u on u.id = c.user_id
        where username = 'ada' order by c.name`,
    )
    expect(stored).toEqual([
      { name: 'Chat 1', sealed: true, pin: true, folder: null },
      { name: 'Chat 2', sealed: false, pin: false, folder: 'Office' },
    ])
  })

  test('many selected chats are archived, moved, saved, deleted and restored at once', async () => {
    await using chat = await openChat(svc, 'mara')
    const { page, requests } = chat
    await insert('mara', 6)
    await page.addInitScript(holdUndo, Date.now())
    await page.reload()
    const list = page.getByRole('navigation', { name: 'Chats' })
    const box = (name: string) => list.getByRole('checkbox', { name })
    const bar = page.getByRole('toolbar', { name: 'Selected chats' })
    const begin = async (name: string) => {
      await list.getByRole('button', { name: `Options for ${name}` }).click()
      await page.getByRole('menuitem', { name: 'Select several' }).click()
    }
    await begin('Chat 1')
    await waitForFocus(box('Chat 1'))
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Space')
    await bar.getByText('2 selected').waitFor()
    await expectAccessible(page)
    await box('Chat 4').click({ modifiers: ['Shift'] })
    await bar.getByText('4 selected').waitFor()
    const download = page.waitForEvent('download')
    const reads: Route[] = []
    const countReads = () =>
      reads.flatMap((route) =>
        route
          .request()
          .url()
          .match(/conversations\.messages/g),
      ).length
    await page.route('**/trpc/conversations.messages*', (route) => void reads.push(route))
    await bar.getByRole('button', { name: 'More actions for the selected chats' }).click()
    await page.getByRole('menuitem', { name: 'Save as Markdown' }).click()
    await expect.poll(countReads).toBe(4)
    for (const read of reads.toReversed()) await read.continue()
    await page.unroute('**/trpc/conversations.messages*')
    const listSaved = async (saved: Download) => Object.keys(unzipSync(await readFile(await saved.path())))
    expect(await listSaved(await download)).toEqual(['1 Chat 1.md', '2 Chat 2.md', '3 Chat 3.md', '4 Chat 4.md'])
    await svc.rows(
      "update conversations set discarded_at = now() where name = 'Chat 2' and user_id = (select id from users where username = 'mara')",
    )
    const others = page.waitForEvent('download')
    await bar.getByRole('button', { name: 'More actions for the selected chats' }).click()
    await page.getByRole('menuitem', { name: 'Save as JSON' }).click()
    expect(await listSaved(await others)).toEqual(['1 Chat 1.json', '2 Chat 3.json', '3 Chat 4.json'])
    await page.getByText('These chats are gone and not in the file: Chat 2').waitFor()
    await svc.rows(
      "update conversations set discarded_at = null where name = 'Chat 2' and user_id = (select id from users where username = 'mara')",
    )
    requests.length = 0
    await bar.getByRole('button', { name: 'Archive' }).click()
    await page.getByText('4 chats are archived.').waitFor()
    await expect.poll(() => list.getByRole('link').count()).toBe(2)
    expect(requests.filter(({ url }) => url.includes('organizeSelected'))).toHaveLength(1)
    await page.getByRole('button', { name: 'Undo' }).click()
    await expect.poll(() => list.getByRole('link').count()).toBe(6)

    await begin('Chat 6')
    await bar.getByRole('button', { name: 'More actions for the selected chats' }).click()
    await page.getByRole('menuitem', { name: 'Select all that are listed' }).click()
    await box('Chat 1').click()
    await bar.getByRole('button', { name: 'Move to a folder' }).click()
    const dialog = page.getByRole('dialog', { name: 'Move 5 chats to a folder' })
    await dialog.getByRole('textbox', { name: 'Name' }).fill('Office')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await list.getByRole('button', { name: 'Office 5' }).click()
    await begin('Chat 2')
    await box('Chat 3').click()
    await bar.getByRole('button', { name: 'Delete' }).click()
    await page.getByText('2 chats are deleted.').waitFor()
    await list.getByRole('button', { name: 'Office 3' }).waitFor()
    await begin('Chat 4')
    await page.keyboard.press('Escape')
    await bar.waitFor({ state: 'detached' })

    await page.getByRole('button', { name: 'Undo' }).click()

    await list.getByRole('button', { name: 'Office 5' }).waitFor()
    await svc.rows(
      `insert into conversations (user_id, slug, name, created_at, updated_at)
        select id, 'maramany' || lpad(n::text, 8, '0'), 'Many ' || n, now(), now() - n * interval '1 second'
          from users, generate_series(1, 201) n where username = 'mara'`,
    )
    await page.reload()
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('Many')
    const many = list.getByRole('link', { name: /^Many/ })
    await expect
      .poll(async () => {
        await many.last().scrollIntoViewIfNeeded()
        return many.last().textContent()
      })
      .toBe('Many 201')
    await begin('Many 201')
    await bar.getByRole('button', { name: 'More actions for the selected chats' }).click()
    await page.getByRole('menuitem', { name: 'Select the first 200' }).click()
    await bar.getByText('200 selected, which is the most').waitFor()
  })

  test('a temporary chat leaves only its usage on the server, until it is kept', async () => {
    await using chat = await openChat(svc, 'tess')
    const { page, complaints, requests } = chat
    const countRows = async (text: string) => {
      const tables = await svc.rows<{ name: string }>(
        "select tablename as name from pg_tables where schemaname = 'public'",
      )
      const counts = tables.map(
        ({ name }) => `select count(*)::int as n from "${name}" t where t::text like '%${text}%'`,
      )
      const rows = await svc.rows<{ n: number }>(counts.join(' union all '))
      return rows.reduce((sum, { n }) => sum + n, 0)
    }
    const countOwn = (table: string) =>
      svc.rows<{ n: number }>(
        `select count(*)::int as n from ${table} join users u on u.id = user_id where username = 'tess'`,
      )
    const attach = (name: string, content: string | Buffer = 'plan', mimeType = 'text/plain') =>
      page
        .locator('input[type=file]')
        .first()
        .setInputFiles({ name, mimeType, buffer: Buffer.from(content) })
    const field = page.getByRole('textbox', { name: 'Message' })
    const readDrafts = () => page.evaluate<string[]>('Object.keys(localStorage).filter((name) => /:draft:/.test(name))')
    const isSendEnabled = () => page.getByRole('button', { name: 'Send', exact: true }).isEnabled()
    await attach('plan.txt')
    await field.fill('Whisper')
    await expect.poll(readDrafts).toHaveLength(2)
    await field.fill('Whisper of walnuts')
    await page.getByRole('button', { name: 'Temporary chat' }).click()
    await page.getByRole('heading', { level: 1, name: 'Temporary chat' }).waitFor()
    await page.getByText('This chat is not stored.').waitFor()
    await page.getByText('It is stored already.').waitFor()
    await expectAccessible(page)
    await expect.poll(() => field.inputValue()).toBe('Whisper of walnuts')
    await field.fill('')
    await expect.poll(isSendEnabled).toBe(false)
    await page.getByRole('button', { name: 'Temporary chat' }).click()
    await expect.poll(isSendEnabled).toBe(true)
    expect(await page.getByRole('list', { name: 'Files' }).getByRole('listitem').count()).toBe(1)
    await page.getByRole('button', { name: 'Temporary chat' }).click()
    await page.getByRole('button', { name: 'Remove plan.txt' }).click()
    await attach('hidden.md', 'Plant pistachios')
    await page.getByText('Ready').waitFor()
    await page.getByRole('button', { name: 'Temporary chat' }).click()
    await page.getByText('It was attached for a temporary chat.').waitFor()
    await page.getByRole('button', { name: 'Temporary chat' }).click()
    await attach('nuts.zip', 'PK\x03\x04\0', 'application/zip')
    await page.getByText('Files of this kind are not accepted.').waitFor()
    await page.getByRole('button', { name: 'Remove nuts.zip' }).click()
    const large = `%PDF-${' '.repeat(7_400_000)}`
    await attach('large.pdf', large, '')
    await page.getByText('Ready to send').nth(1).waitFor()
    await attach('more.pdf', large, '')
    await page.getByText('the files of temporary chats would be larger than 14 MB together').waitFor()
    await page.getByRole('button', { name: 'Remove more.pdf' }).click()
    await page.getByRole('button', { name: 'Remove large.pdf' }).click()
    await attach('other.pdf', large, '')
    await page.getByText('Ready to send').nth(1).waitFor()
    await page.getByRole('button', { name: 'Remove other.pdf' }).click()
    await attach('peanut.jpg', Buffer.from('89504e470d0a1a0a', 'hex'), 'image/jpeg')
    await page.getByText('No model here sees pictures.').waitFor()
    requests.length = 0
    await chat.sendQuestion('Whisper of walnuts')
    await page.getByText(/You wrote \d+ words/).waitFor()
    await chat.answered()
    const sent = () => requests.findLast(({ url }) => url.includes('completeStream'))?.body ?? ''
    const encode = (text: string) => Buffer.from(text).toString('base64')
    expect(sent()).toContain(encode('Plant pistachios'))
    expect(sent()).toContain('The file “peanut.jpg” cannot be read by this model.')
    await attach('late.bin', 'no\0text')
    await page.getByText('Files of this kind are not accepted.').waitFor()
    await page.getByRole('button', { name: 'Remove late.bin' }).click()
    await attach('late.txt', 'Plant pecans')
    await page.getByText('Ready').waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Edit question' }).click()
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('2 of 2').waitFor()
    await chat.answered()
    expect(sent()).toContain(encode('Plant pistachios'))
    const download = page.waitForEvent('download')
    await page.getByRole('button', { name: 'hidden.md' }).click()
    expect(await readFile(await (await download).path(), 'utf8')).toBe('Plant pistachios')
    for (const text of ['walnuts', 'pistachios', 'hidden.md', 'peanut.jpg', 'pecans', 'late.txt'])
      expect(await countRows(text)).toBe(0)
    expect(requests.filter(({ url }) => url.includes('attachments'))).toEqual([])
    expect(await countOwn('conversations')).toEqual([{ n: 0 }])
    await expect.poll(() => countOwn('usage_records')).toEqual([{ n: 2 }])
    expect(await page.evaluate('JSON.stringify({ ...localStorage, ...sessionStorage })')).not.toContain('walnuts')
    expect(await readDrafts()).toEqual([])
    await page.reload()
    await page.getByText('This was a temporary chat.').waitFor()
    const calls = requests.map(({ url, body }) => decodeURIComponent(url) + body)
    expect(calls.filter((call) => /conversations\.\w+.*temporary-/s.test(call))).toEqual([])

    await page.getByRole('main').getByRole('link', { name: 'New chat' }).click()
    await page.getByRole('button', { name: 'Temporary chat' }).waitFor()
    expect(await field.inputValue()).toBe('')
    expect(await page.getByRole('list', { name: 'Files' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Temporary chat' }).click()
    await attach('nuts.csv', 'hazel,2')
    await page.getByText('Ready').waitFor()
    await chat.sendQuestion('Hazel nuts')
    await page.getByText(/You wrote \d+ words/).waitFor()
    await chat.answered()
    await page.getByText('Its files are not kept with it, only their names.').waitFor()
    expect(complaints).toEqual([])
    await page.route('**/trpc/*conversations.update*', (route) => route.abort(), { times: 1 })
    await page.getByRole('button', { name: 'Keep this chat' }).click()
    await page.getByRole('main').getByRole('alert').waitFor()
    await chat.sendQuestion('And pecan pie too')
    await page.getByText('You wrote 4 words').waitFor()
    await chat.answered()
    complaints.length = 0
    const importing = Promise.withResolvers<void>()
    await page.route('**/trpc/*conversations.import*', async (route) => {
      await importing.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Keep this chat' }).click()
    await field.fill('Too soon')
    await expect.poll(isSendEnabled).toBe(false)
    importing.resolve()
    await page.getByRole('heading', { level: 1, name: 'Hazel nuts' }).waitFor()
    await expect.poll(() => field.inputValue()).toBe('Too soon')
    await page.reload()
    await expect.poll(() => field.inputValue()).toBe('Too soon')

    await page.getByText('You wrote 4 words').waitFor()
    await page.getByRole('article').getByText('[nuts.csv]').waitFor()
    expect(await countRows('Hazel')).toBe(0)
    expect(await countRows('nuts.csv')).toBe(0)
    expect(complaints).toEqual([])
  })

  test("a chat is named by its question's first words until it is renamed", async () => {
    await using chat = await openChat(svc, 'olga')
    const { page, requests } = chat
    const list = page.getByRole('navigation', { name: 'Chats' })
    const question = 'Write **a letter** to the dean, in which I ask for another month for my thesis on otters'
    await chat.sendQuestion(`> Quoted before.\n\n${question}`)
    const name = 'Write a letter to the dean, in which I ask for another month…'
    await page.getByRole('heading', { level: 1, name }).waitFor()
    await list.getByRole('link', { name }).waitFor()
    await chat.answered()
    requests.length = 0
    const search = page.getByRole('searchbox', { name: 'Search chats' })
    await search.fill('DEAN')
    await list.getByRole('link', { name }).waitFor()
    await search.fill('otters')
    await list.getByText('No chat').waitFor()
    expect(requests.some(({ url, body }) => /dean|otters/i.test(decodeURIComponent(url + body)))).toBe(false)
    await search.fill('')

    await list.getByRole('button', { name: `Options for ${name}` }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('dialog').getByRole('textbox', { name: 'Name' }).fill('Otters')
    await page.getByRole('dialog').getByRole('button', { name: 'Save' }).click()

    await list.getByRole('link', { name: 'Otters' }).waitFor()
    await chat.sendQuestion('And a closing line')
    await page.getByText('You wrote 4 words').waitFor()
    await chat.answered()
    await page.reload()
    await page.getByRole('heading', { level: 1, name: 'Otters' }).waitFor()
    await list.getByRole('button', { name: 'Options for Otters' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    await page.getByText('“Otters” is deleted.').waitFor()
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage, ...localStorage })')).not.toMatch(/Otters|dean/)
  })

  test('only visible conversations of thousands are rendered, and all can be searched', async () => {
    await using chat = await openChat(svc, 'ben')
    const { page } = chat
    await insert('ben', 3000)
    await page.reload()
    const list = page.getByRole('navigation', { name: 'Chats' })
    await list.getByRole('link', { name: 'Chat 1', exact: true }).waitFor()
    expect(await list.getByRole('link').count()).toBeLessThan(60)

    const scroll = (top: number) => list.evaluate((element, top) => element.scrollTo({ top }), top)
    await scroll(20 * 34)
    await expect.poll(() => list.getByRole('link', { name: 'Chat 1', exact: true }).count()).toBe(0)
    expect((await list.getByRole('link', { name: 'Chat 25', exact: true }).boundingBox())?.y).toBeGreaterThan(0)
    await scroll(0)
    await list.getByRole('link', { name: 'Chat 1', exact: true }).waitFor()
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('chat 2777')

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
    const results = page.getByRole('region', { name: 'In messages' })
    const search = page.getByRole('searchbox', { name: 'Search chats' })
    await search.fill('OSTRICH')
    await results.getByText('so this browser opens and searches them').waitFor()
    requests.length = 0

    await results.getByRole('button', { name: 'Search in messages' }).click()
    await results.getByText('All 2 chats were searched.').waitFor()
    await expect.poll(() => results.getByRole('listitem').count()).toBe(2)
    await search.fill('the  o\u0308strich')
    await expect.poll(() => results.getByRole('listitem').count()).toBe(2)
    expect(page.workers().length).toBe(1)
    await expectAccessible(page)
    await results.getByRole('link').first().click()
    await page.locator('article[aria-current]').getByText('ostrich').waitFor()
    expect(requests.some(({ url, body }) => /ostrich/i.test(decodeURIComponent(url + body)))).toBe(false)
    await search.fill('walrus')
    await results.getByText('Nothing was found.').waitFor()

    await page.context().clearCookies()
    await page.getByRole('textbox', { name: 'Message' }).fill('Gone')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('alertdialog').waitFor()
    await expect.poll(() => page.getByText('so this browser opens').count()).toBe(1)
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
    await page.getByRole('searchbox', { name: 'Search chats' }).fill('aardvark')
    await page.getByRole('button', { name: 'Search in messages' }).click()

    await page.getByRole('region', { name: 'In messages' }).getByRole('link').first().click()

    await page.locator('article[aria-current]').getByText('Aardvark').waitFor()
    await expect.poll(async () => (await page.locator('article[aria-current]').boundingBox())?.y).toBeGreaterThan(0)
    expect(await page.getByText('1 of 2').count()).toBe(1)
  })

  test('a missing chat leads on, and is back once it is restored', async () => {
    await using chat = await openChat(svc, 'rosa')
    const { page } = chat
    const heading = page.getByRole('heading', { level: 1 })
    await chat.sendQuestion('Keep this')
    await page.getByText('You wrote 2 words').waitFor()
    await chat.answered()
    const address = page.url()
    const elsewhere = openBrowser(svc.url)
    await elsewhere.login('rosa')
    const callElsewhere = async (act: string) =>
      expect(
        (await elsewhere.send('POST', `/trpc/conversations.${act}`, { body: { slug: address.split('/').at(-1) } }))
          .status,
      ).toBe(200)

    await callElsewhere('discard')
    await page.getByText('This chat was deleted.').waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('Still here?')
    await expect.poll(() => page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true)
    await page.getByText('You wrote 2 words').waitFor()
    await expectAccessible(page)
    await page.reload()
    await expect.poll(() => heading.textContent()).toBe('This chat does not exist')
    await expectAccessible(page)
    await callElsewhere('restore')
    await page.getByText('You wrote 2 words').waitFor()
    await expect.poll(() => heading.textContent()).toBe('Keep this')

    await page.goto('/chat/nothing')
    await expect.poll(() => heading.textContent()).toBe('This chat does not exist')
    await page.getByRole('main').getByRole('link', { name: 'New chat' }).click()
    await waitForAddress(page, /\/chat$/)
  })

  test('a conversation is saved as Markdown and as JSON, opened', async () => {
    await using chat = await openChat(svc, 'cora')
    const { page } = chat
    await chat.sendQuestion('Save me')
    await page.getByText('You wrote 2 words').waitFor()
    await chat.answered()
    const save = async (what: string) => {
      await page.getByRole('button', { name: 'Options for Save me' }).click()
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
    ['dark', 'de-DE', 1280],
    ['light', 'en-US', 360],
  ] as const)('a newcomer finds their way in %s colours, in %s, %i pixels wide', async (colorScheme, locale, width) => {
    const labels = builtInLabels[locale === 'de-DE' ? 'de_DE' : 'en_US']
    const t = (key: string) => labels[key] ?? key
    const account = `new-${colorScheme}-${width}`
    await using chat = await openChat(svc, account, { colorScheme, locale, viewport: { width, height: 740 } })
    const { page, complaints } = chat
    await expectAccessible(page)

    await page.getByRole('button', { name: t('app.chat.demo') }).click()
    await page.getByRole('button', { name: t('app.composer.send'), exact: true }).click()
    await page.locator('.formula .katex').first().waitFor()
    await page.locator('.code-keyword').first().waitFor()
    await page.locator('article table').waitFor()
    await page.locator('details', { hasText: locale === 'de-DE' ? 'nachgedacht' : 'Thought for' }).waitFor()
    await page.locator('details').getByText('Demo lookup').waitFor()
    await page.getByRole('region', { name: t('app.sources') }).waitFor()
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
      // The list is there again beside a page that becomes wide.
      await page.keyboard.press('Escape')
      await page.setViewportSize({ width: 1280, height: 740 })
      const list = page.getByRole('navigation', { name: t('app.conversations') })
      await list.getByRole('link').first().waitFor()
    }
    expect(complaints).toEqual([])
  })

  test('ten thousand messages open at their end, and are read back to the beginning', async () => {
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
    await svc.rows(
      "update conversations set last_seq = 10000 where user_id = (select id from users where username = 'gina')",
    )

    await page.reload()
    await expect.poll(() => chat.messages().count()).toBe(50)
    await expect.poll(async () => (await chat.messages().last().boundingBox())?.y).toBeLessThan(800)

    const log = page.getByRole('log')
    const first = (await chat.messages().first().getAttribute('id')) ?? ''
    const findTop = (id: string) =>
      page.evaluate<number | undefined>(`document.getElementById('${id}')?.getBoundingClientRect().top`)
    await log.evaluate((element) => element.scrollTo({ top: 0 }))
    await expect.poll(() => chat.messages().count()).toBe(150)
    await expect.poll(() => findTop(first)).toBeGreaterThan(0)
    await expect.poll(() => findTop(first)).toBeLessThan(200)
    await log.focus()
    await page.keyboard.press('Home')
    await expect.poll(() => findTop('1.000'), { timeout: 120_000 }).toBeGreaterThan(0)
    await expect.poll(() => chat.messages().count()).toBe(150)
    expect(await page.getByRole('button', { name: 'Show earlier messages' }).count()).toBe(0)
    await log.evaluate((element) => element.scrollTo({ top: element.scrollHeight }))
    await expect.poll(() => findTop('200.000')).toBeGreaterThan(0)

    await chat.sendQuestion('The last question')

    const own = chat.messages().filter({ hasText: 'The last question' }).first()
    await expect.poll(async () => (await own.boundingBox())?.y).toBeGreaterThan(0)
    await expect.poll(async () => (await own.boundingBox())?.y).toBeLessThan(700)
    await chat.answered()
    await page.getByRole('button', { name: 'Go to the beginning' }).waitFor({ state: 'detached' })
  })

  test('the whole of a chat is done by keyboard alone', async () => {
    await using chat = await openChat(svc, 'dora')
    const { page } = chat
    const field = page.getByRole('textbox', { name: 'Message' })
    // The field has the focus from the beginning.
    await waitForFocus(field)
    await page.keyboard.type('First line')
    await page.keyboard.press('Shift+Enter')
    await page.keyboard.type('second line')
    await page.keyboard.press('Enter')
    await page.getByText('You wrote 4 words').waitFor()
    await chat.answered()
    await page.keyboard.press('Control+Shift+O')
    await waitForAddress(page, /\/chat$/)
    await waitForFocus(field)
    await page.keyboard.type('Again')
    await expect.poll(() => field.inputValue()).toBe('Again')
    await field.fill('')
    await page.getByRole('link', { name: 'New chat' }).click()
    await waitForFocus(field)
    await page.keyboard.type('And again')
    await expect.poll(() => field.inputValue()).toBe('And again')
    await field.fill('')

    const debug = await page.context().newCDPSession(page)
    await debug.send('Input.imeSetComposition', { text: 'こん', selectionStart: 2, selectionEnd: 2 })
    await page.keyboard.press('Enter')
    expect(page.url()).toMatch(/\/chat$/)
  })

  test('shortcuts search the list, edit the last question and are listed by "?"', async () => {
    await using chat = await openChat(svc, 'paul')
    const { page } = chat
    await insert('paul', 3)
    await chat.sendQuestion('Hello there')
    await page.getByText('You wrote 2 words').waitFor()
    await chat.answered()

    await page.keyboard.press('ArrowUp')
    const edited = page.getByRole('textbox', { name: 'Edit question' })
    await expect.poll(() => edited.inputValue()).toBe('Hello there')
    await page.keyboard.press('Escape')
    await edited.waitFor({ state: 'detached' })
    await page.keyboard.type('Is it?')
    await expect.poll(() => page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Is it?')
    await page.keyboard.press('ArrowUp')
    expect(await edited.count()).toBe(0)

    await page.keyboard.press('Control+k')
    await waitForFocus(page.getByRole('searchbox', { name: 'Search chats' }))
    await page.keyboard.type('chat')
    expect(await page.getByRole('searchbox', { name: 'Search chats' }).inputValue()).toBe('chat')
    const list = page.getByRole('navigation', { name: 'Chats' })
    await expect.poll(() => list.getByRole('link').count()).toBe(3)

    // The link beside the search, and then the first row.
    await page.keyboard.press('Tab')
    await page.keyboard.press('Tab')
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Chat 1')
    await page.keyboard.press('ArrowDown')
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Chat 2')
    await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
    await page.getByRole('menuitem', { name: 'Rename' }).waitFor()
    await page.keyboard.press('Escape')
    await page.getByRole('menu').waitFor({ state: 'detached' })
    await waitForFocus(page.getByRole('button', { name: 'Options for Chat 2' }))
    await page.keyboard.press('ArrowLeft')
    await page.keyboard.press('Tab')
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Chat 3')

    await page.keyboard.press('?')
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' })
    await dialog.getByText('Edit your last question').waitFor()
    await dialog.getByText('Go to the beginning or to the newest message').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    await page.setViewportSize({ width: 360, height: 740 })
    await list.waitFor({ state: 'detached' })
    await page.keyboard.press('Control+k')
    await waitForFocus(page.getByRole('dialog').getByRole('searchbox'))
    await page.keyboard.type('x')
    expect(await page.getByRole('dialog').getByRole('searchbox').inputValue()).toBe('x')
  })

  test('the first view asks for little: ten requests, and 170 KiB of scripts', async () => {
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
    expect(counted.length, counted.map(({ url }) => url).join('\n')).toBeLessThanOrEqual(10)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(170 * 1024)
  })
})
