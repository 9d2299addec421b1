import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { gatherInRoom, type RoomsPage } from '../kit/web/rooms.ts'

describeWith('chromium')('what stands between somebody and their message to a room', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let ada: RoomsPage
  let ben: RoomsPage

  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const config = resources.use(await writeConfig(upstream.url))
    svc = resources.use(await startApp({ AI_CONFIG: config.file }))
    const rules = join(svc.folder, 'announcements', 'rules')
    await mkdir(rules, { recursive: true })
    await writeFile(join(rules, 'en_US.md'), 'Be **kind**.')
    const { people } = resources.use(await gatherInRoom(svc, 'Court', ['adaa', 'benn']))
    ;[ada, ben] = people
  })
  afterAll(() => resources.disposeAsync())

  test('a question beyond a limit says so, and its message stays', async () => {
    const { page } = ada
    upstream.behave = answers('One.')
    await svc.host.limits.set({ name: 'few calls', for: 'user:adaa', cap: 1, unit: 'requests', per: 'day' })
    const count = upstream.requests.length
    await ada.say('@svc First?')
    await ada.findMessage('One.').waitFor()
    await page.locator('footer').getByRole('textbox', { name: 'Message' }).fill('@svc Second?')
    await page.getByText('The limit “few calls” is reached.').waitFor()
    await expectAccessible(page)

    await ada.say('@svc Second?')
    await page.getByRole('alert').getByText('This does not fit into a usage limit.').waitFor()
    await ben.findMessage('Second?').waitFor()
    await expectAccessible(page)
    expect(upstream.requests.length).toBe(count + 1)
    await ada.say('Nobody asks now')
    await ben.findMessage('Nobody asks now').waitFor()
    await page.getByText('This does not fit into a usage limit.').waitFor({ state: 'detached' })
    await svc.host.limits.remove({ name: 'few calls' })
  })

  test('what must be accepted first blocks sending to people, too, until it is', async () => {
    const { page } = ben
    await svc.host.announcements.publish({ title: 'House rules', view: 'rules', force: true, users: ['benn'] })
    await page.reload()
    await page.getByText('Please review and accept this first: House rules').waitFor()
    await page.locator('footer').getByRole('textbox', { name: 'Message' }).fill('May I?')
    const button = page.locator('footer').getByRole('button', { name: 'Send', exact: true })
    expect(await button.isDisabled()).toBe(true)
    await expectAccessible(page)

    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'I have read this and agree' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await button.click()
    await ada.findMessage('May I?').waitFor()
  })
})
