import { afterAll, beforeAll, expect, test } from 'vitest'
import { answers, callsTool, neverEnds, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { startToolServer } from '../kit/mcp/tool-server.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { gatherInRoom, type RoomsPage } from '../kit/web/rooms.ts'

describeWith('chromium')('a model that answers in a room', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let ada: RoomsPage
  let ben: RoomsPage
  let cyd: RoomsPage

  beforeAll(async () => {
    const server = resources.use(await startToolServer())
    upstream = resources.use(await startProvider())
    const mcpServers = [{ label: 'Mail', url: server.url, requireApproval: 'always' }]
    const provider = { models: [{ id: 'mock-1', label: 'First', tools: ['mail_echo'] }] }
    const config = resources.use(await writeConfig(upstream.url, { provider, more: { mcpServers } }))
    svc = resources.use(await startApp({ AI_CONFIG: config.file }))
    await svc.host.mcp.sync()
    const [known] = await svc.host.mcp.tools()
    await svc.host.mcp.approve({ name: 'mail_echo', hash: known?.hash ?? '' })
    const { people } = resources.use(await gatherInRoom(svc, 'Harbour', ['adaa', 'benn', 'cydd']))
    ;[ada, ben, cyd] = people
  })
  afterAll(() => resources.disposeAsync())

  const running = ({ page }: Pick<RoomsPage, 'page'>) => page.locator('article[aria-busy="true"]')

  test('everybody sees the answer grow, also who comes later, and its asker stops it', async () => {
    upstream.behave = neverEnds
    await ben.say('@svc Count')
    for (const each of [ada, ben, cyd]) await running(each).getByText('more more').waitFor()
    await expectAccessible(cyd.page)
    await cyd.page.reload()
    await running(cyd).getByText('more more').waitFor()
    expect(await running(cyd).getByRole('button', { name: 'Stop' }).count()).toBe(0)

    await running(ben).getByRole('button', { name: 'Stop' }).click()
    await expect.poll(() => upstream.requests.at(-1)?.abortedAt).toBeDefined()
    for (const each of [ada, ben, cyd]) await running(each).waitFor({ state: 'detached' })
    // What they have read of it is gone, so the page says why.
    for (const { page } of [ada, ben, cyd])
      await page.getByRole('status').filter({ hasText: 'The answer was stopped.' }).waitFor()
  })

  test('an administrator of the room stops the answer that somebody else asked for', async () => {
    upstream.behave = neverEnds
    await ben.say('@svc Count on')
    await running(ada).getByText('more more').waitFor()
    await running(ada).getByRole('button', { name: 'Stop' }).click()
    await expect.poll(() => upstream.requests.at(-1)?.abortedAt).toBeDefined()
    for (const each of [ada, ben, cyd]) await running(each).waitFor({ state: 'detached' })
  })

  test('a tool call asks the asker alone, and runs once after approval', async () => {
    upstream.behave = callsTool('mail_echo', '{"text":"to the port"}')
    await ben.say('@svc Write a letter')
    const question = running(ben).getByRole('region', { name: /“Mail echo”/ })
    await question.getByText('to the port').waitFor()
    await expectAccessible(ben.page)
    await running(ada).getByText('“Mail echo”').waitFor()
    expect(await ada.page.getByRole('region', { name: /“Mail echo”/ }).count()).toBe(0)

    await question.getByRole('button', { name: 'Allow once' }).click()
    for (const each of [ada, ben, cyd]) await each.findMessage('The tool was of help.').waitFor()
  })

  test('a model gets earlier messages and files only if the asker chooses so', async () => {
    upstream.behave = answers('Nine ships.')
    const chosen = ben.page.waitForEvent('filechooser')
    await ben.page.getByRole('button', { name: 'Attach files' }).click()
    const file = { name: 'ships.txt', mimeType: 'text/plain', buffer: Buffer.from('Nine ships lie here') }
    await (await chosen).setFiles(file)
    await ben.page.getByText('Ready').waitFor()
    await ben.say('The list of the day')
    await ben.findMessage('The list of the day').getByRole('button', { name: 'ships.txt' }).waitFor()

    await ben.page.locator('footer').getByRole('textbox', { name: 'Message' }).fill('@svc How many ships?')
    const panel = ben.page.getByRole('group', { name: 'A model is asked' })
    await panel.getByRole('radio', { name: 'the last 20 messages' }).check()
    await panel.getByText('ships.txt').waitFor()
    await panel.getByRole('checkbox', { name: 'with their files' }).uncheck()
    await panel.getByText('ships.txt').waitFor({ state: 'detached' })
    await panel.getByRole('checkbox', { name: 'with their files' }).check()
    await expectAccessible(ben.page)
    await ben.page.locator('footer').getByRole('button', { name: 'Send', exact: true }).click()
    await cyd.findMessage('Nine ships.').waitFor()
    const prompt = JSON.stringify(upstream.requests.at(-1)?.body)
    for (const text of ['The list of the day', 'Nine ships lie here', 'How many ships?']) expect(prompt).toContain(text)

    await cyd.findMessage('Nine ships.').hover()
    await cyd.findMessage('Nine ships.').getByRole('button', { name: 'More' }).click()
    await cyd.page.getByRole('menuitem', { name: 'What the model received' }).click()
    await cyd.page.getByRole('dialog').getByText('one file').waitFor()
    await cyd.page.getByRole('dialog').getByRole('button', { name: 'Close' }).click()
  })

  test('where no socket comes about, the answer grows by server-sent events', async () => {
    const page = await cyd.page.context().newPage()
    await page.routeWebSocket(/\/ws\/transfer/, (socket) => socket.close())
    await page.goto(cyd.page.url())
    await page.getByRole('main').getByRole('textbox', { name: 'Message' }).waitFor({ timeout: 60_000 })
    upstream.behave = neverEnds
    await ben.say('@svc Count by another way')
    await running({ page }).getByText('more more').waitFor({ timeout: 60_000 })
    await running(ben).getByRole('button', { name: 'Stop' }).click()
    for (const each of [{ page }, ada, ben, cyd]) await running(each).waitFor({ state: 'detached' })
    await page.close()
  })
})
