import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'

const answer = `The canary answer has **bold words**, a formula $a^2 + b^2$, and a table:

| Course | Fee |
|---|---|
| Pottery | 40 |

\`\`\`js
const canary = 1
\`\`\`
`

describeWith('chromium')('a chat that is shared by a link', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const config = resources.use(await writeConfig(upstream.url))
    svc = resources.use(await startApp({ AI_CONFIG: config.file, SHARED_LINKS: 'everybody' }))
  })
  afterAll(() => resources.disposeAsync())

  /** Makes a link in the dialog, and returns it. */
  async function share(page: Page, readers?: string): Promise<string> {
    await page.getByRole('button', { name: 'Share this chat' }).click()
    const dialog = page.getByRole('dialog', { name: 'Share this chat' })
    if (readers) await dialog.getByLabel('Readers').selectOption({ label: readers })
    await dialog.getByRole('button', { name: 'Make a link' }).click()
    return dialog.getByRole('textbox', { name: 'Link', exact: true }).first().inputValue()
  }

  test('a stranger without an account reads it, and the service never learns the key', async () => {
    upstream.behave = answers(answer, [answer])
    await using chat = await openChat(svc, 'ada')
    await chat.sendQuestion('What is the canary question?')
    await chat.answered()
    const link = await share(chat.page, 'Everybody, also without signing in')
    const key = link.split('#')[1] ?? ''
    expect(key).toMatch(/^[\w-]{43}$/)
    await chat.page.screenshot({ path: '/tmp/g-shots/dialog.png' })
    await expectAccessible(chat.page)

    await using stranger = await openPage(svc.url, { locale: 'en-US' })
    const { page } = stranger
    await page.goto(link)
    await page.getByText('The canary answer has').waitFor()
    await page.screenshot({ path: '/tmp/g-shots/shared.png', fullPage: true })
    await expectAccessible(page)
    expect(stranger.complaints).toEqual([])
  })
})
