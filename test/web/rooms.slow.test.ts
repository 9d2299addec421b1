import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { redisDatabaseUrl, watchRedis } from '../kit/parts/redis.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForFocus } from '../kit/web/pages.ts'
import { findLastMessage, findReadMark, gatherInRoom, openRooms, type RoomsPage } from '../kit/web/rooms.ts'

/** A picture of one dot. */
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

describeWith('chromium')('rooms in two browsers', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let ada: RoomsPage
  let ben: RoomsPage
  let redis: Awaited<ReturnType<typeof watchRedis>> | undefined

  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const config = resources.use(await writeConfig(upstream.url))
    const redisUrl = inject('redisUrl') ? redisDatabaseUrl(2) : undefined
    if (redisUrl !== undefined) redis = resources.use(await watchRedis(redisUrl))
    const settings = { AI_CONFIG: config.file, LOG_LEVEL: 'trace', ...(redisUrl && { REDIS_URL: redisUrl }) }
    svc = resources.use(await startApp(settings))
    const texts = { description: 'Canary of a description', systemPrompt: 'Canary of a prompt' }
    const { people } = resources.use(await gatherInRoom(svc, 'Thesis group', ['adaa', 'benn'], texts))
    ;[ada, ben] = people
  })
  afterAll(() => resources.disposeAsync())

  test('two people talk in a room and see each message at once', async () => {
    await ada.say('Who has the **canary**?')
    await ben.findMessage('Who has the canary?').waitFor()
    await ben.say('I have it.')
    await ada.findMessage('I have it.').waitFor()
    await ada.page.getByText('Canary of a description').waitFor()
    await ben.page.getByText('Canary of a description').waitFor()

    await expectAccessible(ada.page)
    await ada.page.reload()
    await ada.findMessage('I have it.').waitFor()
    const shown = ada.page.getByRole('main').getByRole('article').locator('.markdown')
    const lastTwo = async () => (await shown.allTextContents()).slice(-2)
    await expect.poll(lastTwo).toEqual(['Who has the canary?', 'I have it.'])
  })

  test('a message that no parser can lay out leaves the room usable', async () => {
    for (const text of ['>'.repeat(2400), `Formulas ${'$$a '.repeat(4000)}`]) {
      await ben.page.getByRole('textbox', { name: 'Message' }).fill(text)
      await ben.page.getByRole('button', { name: 'Send', exact: true }).click()
    }
    await ben.say('After all of that')
    await ada.findMessage('After all of that').waitFor()

    await ada.page.reload()
    await ada.findMessage('After all of that').waitFor()
    // Both go: laying them out again, and judging their elements, would take each later test seconds.
    for (const text of ['>>>>>>>>', 'Formulas']) {
      const message = ben.page.getByRole('article').filter({ hasText: text })
      await message.hover()
      await message.getByRole('button', { name: 'More' }).click()
      await ben.page.getByRole('menuitem', { name: 'Delete' }).click()
      await ben.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
      await message.waitFor({ state: 'detached' })
      await expect.poll(() => ada.page.getByText(text).count()).toBe(0)
    }
  })

  test('a message that cannot be rendered is shown as written, beside the others', async () => {
    await ben.say('This one stays')
    await ada.findMessage('This one stays').waitFor()
    await ada.page.evaluate("URL.canParse = () => { throw new Error('A fault of the page.') }")

    await ben.say('A [link](https://a.example) here')

    await ada.findMessage('A [link](https://a.example) here').waitFor()
    await ada.page.getByText('shown as it was written').waitFor()
    expect(await ada.findMessage('This one stays').count()).toBe(1)
    await ada.page.reload()
    await ada.findMessage('A link here').waitFor()
    const others = ada.complaints.filter((complaint) => !complaint.includes('A fault of the page.'))
    ada.complaints.splice(0, ada.complaints.length, ...others)
  })

  /** Replies to the last message with these words. */
  const reply = async (by: RoomsPage, words: string, text: string) => {
    await by.findMessage(words).hover()
    await by.findMessage(words).getByRole('button', { name: 'Reply' }).click()
    const thread = by.page.getByRole('complementary', { name: 'Thread' })
    await thread.getByRole('textbox', { name: 'Message' }).fill(text)
    await thread.getByRole('button', { name: 'Send', exact: true }).click()
    await thread.getByRole('article').filter({ hasText: text }).waitFor()
    return thread
  }

  const edit = async (by: RoomsPage, words: string, text: string) => {
    await by.findMessage(words).hover()
    await by.findMessage(words).getByRole('button', { name: 'More' }).click()
    await by.page.getByRole('menuitem', { name: 'Edit message' }).click()
    await by.page.getByRole('textbox', { name: 'Edit message' }).fill(text)
    await by.page.getByRole('button', { name: 'Save' }).click()
  }

  const attach = async (by: RoomsPage, files: { name: string; mimeType: string; buffer: Buffer }[]) => {
    const chosen = by.page.waitForEvent('filechooser')
    await by.page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles(files)
    await expect.poll(() => by.page.getByText('Ready').count()).toBe(files.length)
  }

  test('line breaks of a message are kept, and code stays as it was written', async () => {
    await ada.say('First line\nSecond line\n\n```\none\ntwo\n```')
    const message = ben.findMessage('First line')
    await message.waitFor()
    await expect.poll(() => message.locator('p > br').count()).toBe(1)
    expect(await message.locator('pre').textContent()).toBe('one\ntwo')
  })

  test('a reply appears in a thread, and the room counts the replies', async () => {
    await ada.say('Shall we meet?')
    const thread = await reply(ben, 'Shall we meet?', 'On Friday.')

    await ada.findMessage('Shall we meet?').getByRole('button', { name: 'One reply' }).click()
    await ada.page.getByRole('complementary', { name: 'Thread' }).getByText('On Friday.').waitFor()
    await expectAccessible(ada.page)
    await ada.page.keyboard.press('Escape')
    await thread.getByRole('button', { name: 'Close' }).click()
  })

  test('a message is quoted, edited and deleted, and the others see each of it', async () => {
    await ben.say('A tpyo')
    await edit(ben, 'A tpyo', 'A typo')
    const seen = ada.findMessage('A typo')
    await seen.getByText('edited').waitFor()
    await seen.hover()
    await seen.getByRole('button', { name: 'More' }).click()
    await ada.page.getByRole('menuitem', { name: 'Quote' }).click()
    const field = ada.page.getByRole('main').getByRole('textbox', { name: 'Message' })
    await expect.poll(() => field.inputValue()).toMatch(/^> \*\*The benn:\*\*\n> A typo\n\n$/)
    await field.fill(`${await field.inputValue()}No more.`)
    await field.press('Enter')
    await ben.page.locator('blockquote').filter({ hasText: 'A typo' }).waitFor()

    const deleted = ada.page.getByText('Message deleted')
    const before = await deleted.count()
    const edited = ben.findMessage('edited')
    await edited.hover()
    await edited.getByRole('button', { name: 'More' }).click()
    await ben.page.getByRole('menuitem', { name: 'Delete' }).click()
    await ben.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await deleted.nth(before).waitFor()
  })

  test('a sender reads no message back that was sent, edited or deleted here', async () => {
    ada.requests.length = 0
    await ada.say('A frist word')
    await ben.findMessage('A frist word').waitFor()
    await edit(ada, 'A frist word', 'A first word')
    await ben.findMessage('A first word').getByText('edited').waitFor()
    const deleted = ben.page.getByText('Message deleted')
    const before = await deleted.count()
    await ada.findMessage('A first word').hover()
    await ada.findMessage('A first word').getByRole('button', { name: 'More' }).click()
    await ada.page.getByRole('menuitem', { name: 'Delete' }).click()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await deleted.nth(before).waitFor()

    // A message of somebody else comes after the own changes.
    await ben.say('A second word')
    await ada.findMessage('A second word').waitFor()
    expect(ada.requests.flatMap(({ url }) => url.match(/roomMessages\.get/g) ?? [])).toEqual([])
  })

  test('who administers the room deletes what somebody else wrote, and who edits cannot', async () => {
    const more = async (by: RoomsPage, text: string) => {
      await by.findMessage(text).hover()
      await by.findMessage(text).getByRole('button', { name: 'More' }).click()
      await by.page.getByRole('menuitem', { name: 'Quote' }).waitFor()
      return by.page.getByRole('menuitem', { name: 'Delete' })
    }
    await ben.say('Out of place')
    await ada.say('In place')
    await ben.findMessage('In place').waitFor()
    expect(await (await more(ben, 'In place')).count()).toBe(0)
    await ben.page.keyboard.press('Escape')
    await (await more(ada, 'Out of place')).click()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await ben.findMessage('Out of place').waitFor({ state: 'detached' })
  })

  test('a file is encrypted in one browser and decrypted in the other', async () => {
    await attach(ada, [
      { name: 'dot.png', mimeType: 'image/png', buffer: PNG },
      { name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Canary of a file') },
    ])
    await ada.page.getByText('their names are not').waitFor()
    await ada.say('Look at this')

    const message = ben.findMessage('Look at this')
    await message.locator('img').waitFor()
    await message.getByRole('button', { name: 'dot.png' }).click()
    await ben.page.getByRole('dialog').getByRole('img', { name: 'dot.png' }).waitFor()
    await expectAccessible(ben.page)
    await ben.page.keyboard.press('Escape')
    const saved = ben.page.waitForEvent('download')
    await message.getByRole('button', { name: 'notes.txt' }).click()
    const chunks: Buffer[] = []
    for await (const chunk of await (await saved).createReadStream()) chunks.push(chunk)
    expect(Buffer.concat(chunks).toString()).toBe('Canary of a file')
  })

  test('a model is given what was shown before, and everybody sees what that was', async () => {
    upstream.behave = answers('Seven of them.')
    const field = ada.page.getByRole('main').getByRole('textbox', { name: 'Message' })
    await field.fill('@svc How many?')
    const panel = ada.page.getByRole('group', { name: 'A model is asked' })
    await panel.getByRole('radio', { name: 'this message alone' }).waitFor()
    await expectAccessible(ada.page)
    await field.press('Enter')

    await ben.findMessage('Seven of them.').waitFor()
    await ada.findMessage('Seven of them.').waitFor()
    const prompt = JSON.stringify(upstream.requests.at(-1)?.body)
    expect(prompt).toContain('Canary of a prompt')
    expect(prompt).toContain('How many?')
    expect(prompt).not.toContain('canary')
    const answer = ben.findMessage('Seven of them.')
    await answer.hover()
    await answer.getByRole('button', { name: 'More' }).click()
    await ben.page.getByRole('menuitem', { name: 'What the model received' }).click()
    await ben.page.getByRole('dialog').getByText('How many?').waitFor()
    // A menu fades out.
    await ben.page.getByRole('menu').waitFor({ state: 'detached' })
    await expectAccessible(ben.page)
    await ben.page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  })

  test('unread messages are counted with mentions until they are read', async () => {
    // Only what stands outside of threads is marked as read.
    await ada.say('Before the others')
    await ben.findMessage('Before the others').waitFor()
    // What is not marked as read before would be counted, too.
    const last = await findLastMessage(svc, 'Thesis group')
    await expect.poll(() => findReadMark(svc, 'benn', 'Thesis group')).toBe(last)
    await ben.createRoom('Elsewhere')
    await ada.say('Are you there, @benn?')
    const rooms = ben.page.getByRole('navigation', { name: 'Rooms' })
    const row = rooms.getByRole('listitem').filter({ hasText: 'Thesis group' })
    await row.getByText('One unread message').waitFor()
    await row.getByText('You are mentioned once').waitFor()
    await row.getByRole('link').click()
    await ben.page.getByText('New', { exact: true }).waitFor()
    await ben.page.bringToFront()
    await row.getByText('One unread message').waitFor({ state: 'detached' })
    await ada.page.getByText('Read by The benn').waitFor()
  })

  test('by the keyboard alone, somebody writes, replies in a thread and comes back', async () => {
    const { page } = ada
    const press = async (...keys: string[]) => {
      for (const key of keys) await page.keyboard.press(key)
    }
    const tabTo = async (name: string) => {
      const isThere = `document.activeElement?.closest('[aria-label], button')?.getAttribute('aria-label') === '${name}'`
      for (let n = 0; n < 60 && !(await page.evaluate(isThere)); n++) await press('Shift+Tab')
      expect([name, await page.evaluate(isThere)]).toEqual([name, true])
    }
    await page.locator('footer').getByRole('textbox', { name: 'Message' }).focus()
    await page.keyboard.type('By keys alone')
    await press('Enter')
    await ada.findMessage('By keys alone').locator('time').waitFor()
    await tabTo('Reply')
    await press('Enter')
    const thread = page.getByRole('complementary', { name: 'Thread' })
    await thread.getByText('By keys alone').waitFor()
    await waitForFocus(thread.getByRole('textbox', { name: 'Message' }))
    await page.keyboard.type('And so is this')
    await press('Enter')
    await thread.getByRole('article').filter({ hasText: 'And so is this' }).locator('time').waitFor()
    await press('Escape')
    await thread.waitFor({ state: 'detached' })
    await tabTo('Reply')
    await ben.findMessage('By keys alone').getByRole('button', { name: 'One reply' }).waitFor()
  })

  test('who is here and who writes is seen', async () => {
    await ada.page.getByText('2 here').waitFor()
    await ben.page.getByRole('main').getByRole('textbox', { name: 'Message' }).fill('Hm')
    await ada.page.getByText('The benn is writing').waitFor()
    await ben.page.getByRole('main').getByRole('textbox', { name: 'Message' }).fill('')
  })

  test('words are searched for in what was read', async () => {
    for (const text of ['Nobody knows.', 'Who knows the lighthouse?']) await ada.say(text)
    await ada.findMessage('Who knows the lighthouse?').locator('time').waitFor()
    await ada.showPanel('Search')
    const panel = ada.page.getByRole('complementary', { name: 'Search' })
    await panel.getByRole('searchbox').fill('who knows')
    await panel.getByRole('button', { name: /Who knows the lighthouse/ }).click()
    await ada.page.locator('article[aria-current]').filter({ hasText: 'Who knows the lighthouse?' }).waitFor()
    await panel.getByText(/All \d+ messages were searched/).waitFor()
    await expectAccessible(ada.page)
    await panel.getByRole('button', { name: 'Close' }).click()
  })

  test("nothing of a room is in clear text except in the question's body", async () => {
    await attach(ada, [{ name: 'song.txt', mimeType: 'text/plain', buffer: Buffer.from('Canary of a song') }])
    await ada.say('The canary shall sing')
    await ben.findMessage('The canary shall sing').waitFor()
    await edit(ada, 'The canary shall sing', 'The canary sings')
    await ben.findMessage('The canary sings').getByText('edited').waitFor()
    const thread = await reply(ben, 'The canary sings', 'So does my canary')
    await thread.getByRole('button', { name: 'Close' }).click()
    upstream.behave = answers('A canary of a model sings, too.')
    await ada.say('@svc Does your canary sing?')
    await ben.findMessage('A canary of a model sings, too.').waitFor()
    await ada.findMessage('A canary of a model sings, too.').waitFor()

    const sent = [...ada.requests, ...ben.requests].filter(({ body }) => /canary|Shall we meet|A typo/i.test(body))
    expect(sent.map(({ url }) => new URL(url).pathname).filter((path) => path !== '/trpc/rooms.ask')).toEqual([])
    const tables = await svc.rows<{ name: string }>(
      "select table_name as name from information_schema.tables where table_schema = current_schema() and table_type = 'BASE TABLE'",
    )
    for (const { name } of tables) {
      const [found] = await svc.rows<{ count: number }>(
        `select count(*)::int as count from "${name}" x where to_jsonb(x)::text ~* 'canary|Shall we meet|Look at this|Seven of them'`,
      )
      expect([name, found?.count]).toEqual([name, 0])
    }
    // The growing answer is published, and so sent to the other replicas.
    await expect
      .poll(() => redis?.commands.join() ?? 'room-disclosures.progress')
      .toContain('room-disclosures.progress')
    const logged = svc.log.join('') + (redis?.commands.join() ?? '')
    expect(logged).not.toMatch(/canary|Shall we meet|Look at this|Seven of them/i)
    expect(ada.complaints).toEqual([])
    expect(ben.complaints).toEqual([])
  })
})

const english = {
  create: 'New room',
  members: 'Members',
  invite: 'Invite',
  thread: 'Thread',
  reply: 'Reply',
  message: 'Message',
  send: 'Send',
  search: 'Search',
}

const german: typeof english = {
  create: 'Neuer Raum',
  members: 'Mitglieder',
  invite: 'Einladen',
  thread: 'Thread',
  reply: 'Antworten',
  message: 'Nachricht',
  send: 'Senden',
  search: 'Suchen',
}

describeWith('chromium')('rooms on a phone', () => {
  test.for([
    ['en-US', 'dark', english],
    ['de-DE', 'light', german],
  ] as const)('every view in %s and %s fits, and keeps nobody out', async ([locale, colorScheme, names]) => {
    await using svc = await startApp()
    const phone = { viewport: { width: 360, height: 740 }, locale, colorScheme }
    await using ada = await openRooms(svc, 'adaa', phone)
    const { page } = ada
    const fits = async (view: string) => {
      expect([view, await page.evaluate('document.documentElement.scrollWidth')]).toEqual([view, 360])
      await expectAccessible(page)
    }
    await fits('none chosen')
    await page.getByRole('button', { name: names.create }).click()
    await fits('new')
    await page
      .getByRole('dialog')
      .getByRole('textbox')
      .first()
      .fill('A name that is longer than a phone is wide, by far')
    await page.keyboard.press('Enter')
    const main = page.getByRole('main')
    const write = '**Hello**, and a word without end: '.concat('x'.repeat(90))
    await main.getByRole('textbox', { name: names.message }).fill(write)
    await main.getByRole('button', { name: names.send, exact: true }).click()
    await page.locator('article[id]').waitFor()
    await fits('room')
    const show = async (view: string) => {
      await main.getByRole('button', { name: view, exact: true }).click()
      await page.getByRole('complementary', { name: view, exact: true }).waitFor()
      await fits(view)
    }
    await show(names.members)
    await main.getByRole('button', { name: names.invite, exact: true }).click()
    await page.getByRole('dialog', { name: names.invite }).waitFor()
    await fits('invite')
    await page.getByRole('dialog').getByRole('button').last().click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await show(names.search)
    await page.keyboard.press('Escape')
    await page.getByRole('article').hover()
    await page.getByRole('article').getByRole('button', { name: names.reply }).click()
    await page.getByRole('complementary', { name: names.thread }).waitFor()
    await fits('thread')
  })
})
