import { expect, test } from 'vitest'
import { callTool, startGateway } from '../kit/mcp/gateway.ts'
import { buildTool, startToolServer } from '../kit/mcp/tool-server.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { showSettings } from '../kit/web/pages.ts'
import { roomControls } from '../kit/web/rooms.ts'

const mail = shareResource(() => startToolServer([buildTool('send')]))
const svc = shareResource(() => startGateway([{ label: 'Mail', url: mail.url, requireApproval: 'always' }]))

describeWith('chromium')('the approvals in the settings', () => {
  test("a program's call appears in settings, chats and rooms, and runs once allowed", async () => {
    await using person = await openChat(svc, 'ada')
    const { page, complaints } = person
    await showSettings(page, 'approvals')
    const [{ id } = { id: 0 }] = await svc.rows<{ id: number }>("select id from users where username = 'ada'")
    const { token } = await svc.host.tokens.createFor({ user: { id }, name: 'editor', abilities: ['mcp'] })
    const send = (text: string) => callTool(svc, 'mail_send', { token, input: { text } })
    await page.getByText('No program waits for your answer.').waitFor()

    expect((await send('to Bob')).result.content[0].text).toContain(`${svc.url}/settings/approvals`)
    const question = page.getByRole('listitem', { name: 'May “editor” call “mail_send”?' })
    await question.getByText('"text": "to Bob"').waitFor()
    await expectAccessible(page)
    await page.setViewportSize({ width: 360, height: 700 })
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await question.getByRole('button', { name: 'Allow once' }).press('Enter')
    await page.getByText('“mail_send” is allowed once. The program can call it now.').waitFor()
    await question.waitFor({ state: 'detached' })
    expect((await send('to Bob')).result.isError).toBeUndefined()

    expect((await send('to Eve')).result.isError).toBe(true)
    await question.getByRole('button', { name: "Don't allow" }).click()
    await page.getByText('No program waits for your answer.').waitFor()
    expect((await send('to Eve')).result.isError).toBe(true)
    for (const text of ['to Ann', 'to Cleo']) await send(text)
    await question.getByText('"text": "to Cleo"').waitFor()
    const held = Promise.withResolvers<void>()
    await page.route('**/trpc/mcpGateway.answer**', async (route) => {
      await held.promise
      await route.continue()
    })
    for (const text of ['to Ann', 'to Cleo'])
      await question
        .filter({ hasText: text })
        .getByRole('button', { name: text === 'to Ann' ? "Don't allow" : 'Allow for 8 hours' })
        .click()
    held.resolve()
    // That about Eve was asked again.
    await expect.poll(() => question.count()).toBe(1)
    for (const text of ['to Cleo', 'to Dan']) expect((await send(text)).result.isError).toBeUndefined()
    expect(mail.seen.filter(({ method }) => method === 'tools/call').map(({ params }) => params?.arguments)).toEqual([
      ...['to Bob', 'to Cleo', 'to Dan'].map((text) => ({ text })),
    ])

    await page.setViewportSize({ width: 1280, height: 800 })
    await page.goto('/chat')
    // The question about Eve waits since before the page was opened.
    const notice = page.getByRole('status').filter({ hasText: 'May “editor” call “mail_send”?' })
    await notice.getByRole('button', { name: 'Answer' }).click()
    const dialog = page.getByRole('dialog', { name: 'Calls of your programs' })
    await dialog.getByText('"text": "to Eve"').waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: "Don't allow" }).click()
    await dialog.getByText('“mail_send” is not called.').waitFor()
    await page.keyboard.press('Escape')
    await notice.waitFor({ state: 'detached' })
    await svc.host.tokens
      .createFor({ user: { id }, name: 'agent', abilities: ['mcp'] })
      .then(({ token }) => callTool(svc, 'mail_send', { token, input: { text: 'to Flo' } }))
    await page.getByText('May “agent” call “mail_send”?').waitFor()

    await page.goto('/rooms')
    await roomControls(page).createRoom('Seminar')
    await page.getByRole('status').filter({ hasText: 'May “agent” call “mail_send”?' }).waitFor()
    await showSettings(page, 'approvals')
    await page.getByText('"text": "to Flo"').waitFor()
    expect(complaints).toEqual([])
  })
})
