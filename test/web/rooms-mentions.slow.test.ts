import { afterAll, beforeAll, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForFocus } from '../kit/web/pages.ts'
import { gatherInRoom, makeRoom, type RoomsPage } from '../kit/web/rooms.ts'

describeWith('chromium')('mentions in a room', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let ada: RoomsPage
  let ben: RoomsPage

  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const config = resources.use(await writeConfig(upstream.url))
    svc = resources.use(await startApp({ AI_CONFIG: config.file, SITE_NAME: 'Uni Chat' }))
    const { people } = resources.use(await gatherInRoom(svc, 'Court', ['adaa', 'benn', 'benn.s']))
    ;[ada, ben] = people
  })
  afterAll(() => resources.disposeAsync())

  test('a suggestion is taken by Enter or Tab, and is shown as a mention', async () => {
    const { page } = ada
    const field = page.locator('footer').getByRole('textbox', { name: 'Message' })
    const list = page.getByRole('listbox')
    await field.focus()
    await page.keyboard.type('Hello @be')
    await expect.poll(() => list.getByRole('option').count()).toBe(2)
    const active = await list.getByRole('option', { selected: true }).getAttribute('id')
    expect(await field.getAttribute('aria-activedescendant')).toBe(active)
    await expectAccessible(page)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Tab')
    await expect.poll(() => field.inputValue()).toBe('Hello @benn.s ')
    await page.keyboard.type('and @benn')
    await page.keyboard.press('Enter')
    await expect.poll(() => field.inputValue()).toBe('Hello @benn.s and @benn ')
    await page.keyboard.type('`@be')
    await expect.poll(() => list.count()).toBe(0)
    await page.keyboard.type('`')
    await page.keyboard.press('Enter')

    const marked = ben.findMessage('Hello').locator('.mention')
    await marked.first().waitFor()
    expect(await marked.allTextContents()).toEqual(['@benn.s', '@benn'])
    expect(await ben.findMessage('Hello').locator('.mention[data-self]').textContent()).toBe('@benn')
    // The message of somebody who is named stands out, and that of nobody else.
    const getShadow = ({ findMessage }: RoomsPage) =>
      findMessage('Hello').evaluate((it) => it.ownerDocument.defaultView?.getComputedStyle(it).boxShadow)
    expect(await getShadow(ben)).toContain('inset')
    expect(await getShadow(ada)).toBe('none')
    await expectAccessible(ben.page)
  })

  test('a quotation asks nobody, and a model has names of house and service', async () => {
    const { page } = ada
    const field = page.locator('footer').getByRole('textbox', { name: 'Message' })
    const question = page.locator('form fieldset')
    expect(await field.getAttribute('placeholder')).toContain('@uni-chat')
    await field.fill('@svc who?')
    await question.waitFor()
    for (const text of ['> @svc who?', 'Write `@uni-chat` for that', 'mail@svc'])
      await expect.poll(() => field.fill(text).then(() => question.count())).toBe(0)
    upstream.behave = answers('It is me.')

    await ada.say('@Uni-Chat who?')

    await ben.findMessage('It is me.').waitFor()
  })

  test('the sign of a mention survives a reload, and goes with its message', async () => {
    const row = ben.page.getByRole('navigation', { name: 'Rooms' }).getByRole('listitem').filter({ hasText: 'Court' })
    await ben.createRoom('Elsewhere')
    for (const text of ['Only @benn.s now', '> @benn said so', 'In `@benn` code', 'Come, @benn.']) await ada.say(text)
    await ada.findMessage('Come').locator('time').waitFor()
    await row.getByText('You are mentioned once').waitFor()

    await ben.page.reload()
    await row.getByText('You are mentioned once').waitFor()
    const message = ada.findMessage('Come')
    await message.hover()
    await message.getByRole('button', { name: 'More' }).click()
    await ada.page.getByRole('menuitem', { name: 'Delete' }).click()
    await ada.page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()

    await row.getByText('You are mentioned once').waitFor({ state: 'detached' })
  })

  test('a reaction is shown to everybody, sealed in one length, and taken back', async () => {
    const react = async ({ page, findMessage }: RoomsPage, emoji: string) => {
      await findMessage('Shall we meet').hover()
      await findMessage('Shall we meet').getByRole('button', { name: 'Add a reaction' }).click()
      await expectAccessible(page)
      await findMessage('Shall we meet').getByRole('button', { name: emoji, exact: true }).click()
    }
    const chip = ({ findMessage }: RoomsPage, name: string) =>
      findMessage('Shall we meet').getByRole('button', { name, exact: true })
    // An earlier test may have left one of them elsewhere.
    for (const { page } of [ada, ben]) {
      await page.getByRole('navigation', { name: 'Rooms' }).getByRole('link', { name: /Court/ }).click()
      await page.getByRole('heading', { level: 1, name: 'Court' }).waitFor()
    }
    await ada.say('Shall we meet at noon?')
    await ben.findMessage('Shall we meet').waitFor()

    await react(ben, '👍')
    await chip(ada, '👍 1, from The benn').click()
    for (const each of [ada, ben]) await chip(each, '👍 2, from The benn and The adaa').waitFor()
    await react(ben, '❤️')
    await chip(ada, '❤️ 1, from The benn').waitFor()
    const stored = await svc.rows<{ length: number }>('select distinct length(content) as length from room_reactions')
    expect(stored).toHaveLength(1)

    await ben.page.reload()
    await chip(ben, '👍 2, from The benn and The adaa').click()
    for (const each of [ada, ben]) await chip(each, '👍 1, from The adaa').waitFor()
    expect(await chip(ada, '👍 1, from The adaa').getAttribute('aria-pressed')).toBe('true')
    await expectAccessible(ada.page)
    await ada.page.evaluate(
      `Storage.prototype.setItem = () => { throw new DOMException('Full', 'QuotaExceededError') }`,
    )
    await ada.say('Nothing more fits in here')
    await ben.findMessage('Nothing more fits in here').waitFor()
    await ada.page.reload()
  })

  test('reactions are chosen by keyboard, and put away when the focus leaves', async () => {
    const { page, findMessage, say } = ben
    const room = await makeRoom('Tower', [ada, ben])
    await ada.say(`Who climbs the ${room}?`)
    await say('I do, and I bring the rope')
    const message = findMessage('I bring the rope')
    const button = message.getByRole('button', { name: 'Add a reaction' })
    const choices = message.getByRole('group', { name: 'Add a reaction' })
    const focused = page.locator(':focus')

    await button.focus()
    await page.keyboard.press('Enter')
    await choices.waitFor()
    await page.keyboard.press('Tab')
    await expect.poll(() => focused.textContent()).toBe('👍')
    await page.keyboard.press('Escape')
    await choices.waitFor({ state: 'detached' })
    await waitForFocus(button)
    await page.keyboard.press('Enter')
    await choices.waitFor()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Enter')
    await message.getByRole('button', { name: '👍 1, from The benn', exact: true }).waitFor()
    await choices.waitFor({ state: 'detached' })
    await waitForFocus(button)
    const reaction = message.getByRole('button', { name: '👍 1, from The benn', exact: true })
    await reaction.focus()
    await page.keyboard.press('Enter')
    await reaction.waitFor({ state: 'detached' })
    await waitForFocus(button)
    await page.keyboard.press('Enter')
    await choices.waitFor()
    await page.keyboard.press('Shift+Tab')
    await choices.waitFor({ state: 'detached' })

    await page.setViewportSize({ width: 390, height: 844 })
    await message.hover()
    await button.click()
    const [row, text] = await Promise.all([choices.boundingBox(), message.getByText('I bring the rope').boundingBox()])
    await page.setViewportSize({ width: 1280, height: 720 })
    expect(row?.y).toBeGreaterThanOrEqual((text?.y ?? 0) + (text?.height ?? 0))
    expect((row?.x ?? 0) + (row?.width ?? 0)).toBeLessThanOrEqual(390)
  })

  test('a late response does not replace newer reactions, and a reaction is sent once', async () => {
    const room = await makeRoom('Bridge', [ada, ben])
    await ada.say(`Who crosses the ${room}?`)
    const ofBen = ben.findMessage('Who crosses')
    const ofAda = ada.findMessage('Who crosses')
    const held = Promise.withResolvers<void>()
    let sent = 0
    await ben.page.route('**/trpc/roomReactions.add**', async (route) => {
      sent++
      const response = await route.fetch()
      await held.promise
      await route.fulfill({ response })
    })

    await ofBen.hover()
    await ofBen.getByRole('button', { name: 'Add a reaction' }).click()
    const thumb = ofBen.getByRole('group', { name: 'Add a reaction' }).getByRole('button', { name: '👍' })
    for (const _ of [1, 2]) await thumb.click()
    await ofAda.getByRole('button', { name: '👍 1, from The benn' }).click()
    await ofBen.getByRole('button', { name: '👍 2, from The benn and The adaa' }).waitFor()
    held.resolve()
    await thumb.waitFor({ state: 'detached' })
    await ben.page.unrouteAll({ behavior: 'wait' })

    expect(await ofBen.getByRole('button', { name: '👍 2, from The benn and The adaa' }).count()).toBe(1)
    expect(sent).toBe(1)
  })

  test('the reactions stay while those that replace them cannot be read', async () => {
    const { page, say, findMessage } = ben
    const room = await makeRoom('Tunnel', [ada, ben])
    await ada.say(`Who digs the ${room}?`)
    const chip = findMessage('Who digs').getByRole('button', { name: '👍 1, from The benn' })
    await findMessage('Who digs').hover()
    await findMessage('Who digs').getByRole('button', { name: 'Add a reaction' }).click()
    await findMessage('Who digs')
      .getByRole('group', { name: 'Add a reaction' })
      .getByRole('button', { name: '👍' })
      .click()
    await chip.waitFor()
    let lost = 0
    await page.routeWebSocket(/\/ws\/transfer/, (socket) => {
      const server = socket.connectToServer()
      server.onMessage((message) => {
        if (lost > 0 && `${message}`.includes('room-messages.created')) lost--
        else socket.send(message)
      })
    })
    await page.reload()
    await chip.waitFor()
    await ada.say('Ready')
    await findMessage('Ready').waitFor()
    await page.route(
      '**/trpc/rooms.changesSince**',
      (route) => {
        const input = JSON.parse(new URL(route.request().url()).searchParams.get('input') ?? '{}')
        const data = { problem: 'position_too_old', position: input.page.after }
        return route.fulfill({ status: 400, json: { error: { message: 'Too old.', data } } })
      },
      { times: 1 },
    )
    let failed = 0
    await page.route('**/trpc/roomReactions.list**', (route) => {
      failed++
      return route.abort()
    })

    lost = 1
    for (const text of ['This is missed', 'And this tells of it']) await ada.say(text)
    await expect.poll(() => failed).toBeGreaterThan(0)
    await say('And nothing is forgotten')
    await findMessage('And nothing is forgotten').waitFor()
    expect(await chip.count()).toBe(1)
    await page.unroute('**/trpc/roomReactions.list**')

    await findMessage('This is missed').waitFor()
    expect(await chip.count()).toBe(1)
  })
})
