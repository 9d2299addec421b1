import { expect, test } from 'vitest'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForAddress } from '../kit/web/pages.ts'

describeWith('chromium')('the chat in a real browser', () => {
  test('a question is answered, stored encrypted, and there again after a reload', async () => {
    await using svc = await startApp()
    await using chat = await openChat(svc, 'ada')
    const { page, complaints } = chat

    await chat.sendQuestion('What is a **standard error**?')
    await waitForAddress(page, /\/chat\/\w{16}$/)
    await page.getByText('You wrote 5 words').waitFor()
    await chat.answered()

    const stored = await svc.rows<{ role: string; content: string; isComplete: boolean }>(
      'select role, content, is_complete as "isComplete" from conversation_messages order by seq',
    )
    expect(stored.map(({ role, isComplete }) => [role, isComplete])).toEqual([
      ['user', true],
      ['assistant', true],
    ])
    expect(stored.map(({ content }) => content).join()).not.toContain('standard')
    const [named] = await svc.rows<{ name: string; sealedName: string }>(
      'select name, sealed_name as "sealedName" from conversations',
    )
    expect(named?.name).toMatch(/^Chat of/)
    expect(named?.sealedName).toMatch(/^[\w+/=]+\|[\w+/=]+\|[\w+/=]+$/)
    await page.reload()
    await page.getByText('You wrote 5 words').waitFor()
    expect(await chat.messages().count()).toBe(2)
    expect(await page.locator('article strong').textContent()).toBe('standard error')
    await page
      .getByRole('navigation', { name: 'Chats' })
      .getByRole('link', { name: 'What is a standard error?', exact: true })
      .waitFor()
    await expectAccessible(page)

    await chat.messages().last().getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Quote' }).click()
    await expect
      .poll(() => page.getByRole('textbox', { name: 'Message' }).inputValue())
      .toMatch(/^> .*You wrote 5 words/)
    expect(complaints).toEqual([])
  })

  test('Enter before the models are read sends the question when they are', async () => {
    await using svc = await startApp()
    await using chat = await openChat(svc, 'cleo')
    const { page } = chat
    const models = Promise.withResolvers<void>()
    await page.route('**/trpc/*aiModels.list*', async (route) => {
      await models.promise
      await route.continue()
    })
    await page.goto('/chat')
    const field = page.getByRole('textbox', { name: 'Message' })

    await field.fill('Who waits for whom?')
    await field.press('Enter')
    models.resolve()

    await page.getByText('You wrote 4 words').waitFor()
  })

  test('the files of the front end are cached for ever and sent compressed', async () => {
    await using svc = await startApp()
    await using chat = await openChat(svc, 'ben')
    const script = await chat.page.getAttribute('script[type="module"]', 'src')

    const { headers, status } = await svc.send('GET', script ?? '', { headers: { 'accept-encoding': 'br' } })

    expect(status).toBe(200)
    expect(headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
    expect(headers.get('content-encoding')).toBe('br')
    expect((await svc.send('GET', '/assets/app/nothing.js')).status).toBe(404)
    expect((await svc.send('GET', '/assets/app/..%2fmanifest.json')).status).toBe(404)
    expect((await svc.send('GET', '/chats')).status).toBe(404)
  })
})
