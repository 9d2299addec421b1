import type { BrowserContextOptions, Page } from 'playwright-core'
import { expect } from 'vitest'
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
  let asked = ''
  return {
    /** Asks, without waiting for the answer. */
    async sendQuestion(question: string) {
      asked = question
      await findComposer(page).fill(question)
      await page.getByRole('button', { name: 'Send', exact: true }).click()
    },
    /** The messages that are shown. */
    messages: () => page.getByRole('article'),
    /** Waits for the end of the answer, which begins once its question is stored and out of the field. */
    async answered() {
      if (asked !== '') await expect.poll(() => findComposer(page).inputValue()).not.toBe(asked)
      await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' })
      await page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached' })
    },
  }
}

/** Records what a page seals from now on. When it closes, it can store no more than that. */
export async function recordSealed(page: Page) {
  await page.evaluate(`{
    globalThis.sealedTexts = ''
    const { encrypt } = SubtleCrypto.prototype
    SubtleCrypto.prototype.encrypt = async function (...input) {
      const sealed = await encrypt.apply(this, input)
      globalThis.sealedTexts += new TextDecoder().decode(input[2])
      return sealed
    }
  }`)
  return {
    /** Waits until these words are sealed. */
    wait: (words: string) => expect.poll(() => page.evaluate<string>('globalThis.sealedTexts')).toContain(words),
  }
}
