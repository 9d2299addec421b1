import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { answers } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForAddress } from '../kit/web/pages.ts'

const models = ['mock-1', 'mock-2'].map((id) => ({ id, label: id === 'mock-1' ? 'Mock 1' : 'Mock 2', external: true }))
const app = shareResource(() => startWithProvider(answers('Look into the catalogue.'), { models }))

const shot = async (page: Page, name: string) => {
  if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/${name}.png` })
}

/** Writes an assistant into the form of a new one. */
async function writeAssistant(page: Page, name: string) {
  await page.goto('/assistants/new')
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await page.getByLabel('Description').fill('Finds books for a thesis.')
  await page.getByRole('textbox', { name: 'Instructions' }).fill('Answer as a librarian would.')
  await page.getByLabel('Greeting').fill('Hello, **what** do you write about?')
  for (const [at, starter] of ['How do I cite?', 'Which books are there about'].entries()) {
    await page.getByRole('button', { name: 'Add a question' }).click()
    await page.getByLabel(`Question ${at + 1}`, { exact: true }).fill(starter)
  }
}

const publish = async (page: Page) => {
  await page.getByRole('button', { name: 'Save and publish' }).click()
  await page.getByText(/Version \d+ is published\./).waitFor()
}

describeWith('chromium')('assistants in a real browser', () => {
  test('a person makes an assistant, asks it, and shares it with a group', async () => {
    const { svc, upstream } = app
    await using ada = await openChat(svc, 'ada')
    const { page } = ada
    await page.getByRole('link', { name: 'Assistants' }).click()
    await page.getByText('There are no assistants yet').waitFor()
    await shot(page, 'none')
    await writeAssistant(page, 'Thesis helper')
    expect(await page.getByLabel('Handle').inputValue()).toBe('thesis-helper')
    await page.getByLabel('Temperature, 0 to 2').fill('0.2')
    await shot(page, 'new')
    await publish(page)
    await waitForAddress(page, /\/assistants\/thesis-helper\/edit$/)
    await expectAccessible(page)
    await shot(page, 'editor')

    await page.getByRole('link', { name: 'Assistants' }).click()
    await page.getByRole('link', { name: 'Ask Thesis helper' }).waitFor()
    await shot(page, 'gallery')
    await page.getByRole('link', { name: 'Ask Thesis helper' }).click()
    await page.getByText('Hello, what do you write about?').waitFor()
    await shot(page, 'welcome')
    await page.getByRole('button', { name: 'How do I cite?' }).click()
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await ada.answered()
    await page.getByRole('article', { name: 'Message from Thesis helper, version 1' }).waitFor()
    await shot(page, 'answer')
    const sent = upstream.requests.find(({ body }) => body.stream)
    expect(sent?.body.messages).toEqual([
      { role: 'system', content: 'Answer as a librarian would.' },
      { role: 'user', content: 'How do I cite?' },
    ])
    expect(sent?.body).toMatchObject({ temperature: 0.2 })
    expect(ada.complaints).toEqual([])
  })
})
