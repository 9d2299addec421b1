import type { BrowserContextOptions, Page } from 'playwright-core'
import type { TestApp } from '../app.ts'
import { addAccount } from '../browser.ts'
import { openPage } from './chromium.ts'
import { makeKeys, signIn } from './pages.ts'

/** Opens the chats of a new person with keys. */
export async function openChat(svc: TestApp, account: string, options: BrowserContextOptions = {}) {
  await addAccount(svc, account, { known: false })
  const chromium = await openPage(svc.url, options)
  const { page } = chromium
  await signIn(page, account)
  const code = await makeKeys(page)
  await page.click('#kept a')
  await findComposer(page).waitFor()
  return { ...chromium, ...buildControls(page), /** The recovery code. */ code }
}

const findComposer = (page: Page) => page.getByRole('textbox', { name: /^(Message|Nachricht)$/ })

function buildControls(page: Page) {
  return {
    /** Asks, without waiting for the answer. */
    async sendQuestion(question: string) {
      await findComposer(page).fill(question)
      await page.getByRole('button', { name: 'Send', exact: true }).click()
    },
    /** The messages that are shown. */
    messages: () => page.getByRole('article'),
    /** Waits for the end of the answer. */
    async answered() {
      await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    },
  }
}
