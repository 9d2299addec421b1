import { expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { addAssistantWithKnowledge } from '../kit/assistants/answers.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { buildTable, makeWord } from '../kit/sample-files/word.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForFocus } from '../kit/web/pages.ts'

const fill = (about: string) => `This chapter is about ${about}. `.repeat(40)
const fees = `# Fees\n\nPottery costs 40 euros. ${fill('fees')}\n\n# Hours\n\nThe library closes at ten. ${fill('hours')}`

/** A Word document with a table of three pages that has one head row. */
function makeCourses() {
  const rows = Array.from({ length: 160 }, (_, at) => [`Course ${at + 1}`, `${at + 201} euros`])
  return makeWord({ body: buildTable([['Course', 'Fee'], ...rows]) })
}

/** Returns the number of the passage with these words in what a model was sent. */
const findNumber = (sent: string, words: string): string =>
  [...sent.slice(0, sent.indexOf(words)).matchAll(/\[(\d+)\]/g)].at(-1)?.[1] ?? ''

describeWith('chromium')('the sources of an answer', () => {
  test('a person opens cited passages, also after a reload and from an address', async () => {
    let given = { row: '', fees: '', hours: '' }
    await using upstream = await startProvider(async (received, response) => {
      const find = (words: string) => findNumber(received.sent, words)
      given = { row: find('Course 140'), fees: find('Pottery costs'), hours: find('closes at ten') }
      const text = `It closes at ten [${given.hours}]. Pottery costs 40 euros [${given.fees}] [999].`
      await answers(`${text} Course 140 costs 340 euros [${given.row}].`)(received, response)
    })
    // The page offers models; one of this name stands for the assistant.
    const models = [
      { id: 'assistant/handbook', label: 'Handbook', external: true },
      { id: 'mock-1', label: 'Mock', external: true },
    ]
    await using config = await writeConfig(upstream.url, {
      provider: { models },
      more: { systemModels: { default: 'assistant/handbook' } },
    })
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { owner, handbook, handle } = await addAssistantWithKnowledge(
      svc,
      { 'fees.md': fees, 'courses.docx': makeCourses() },
      {},
      'handbook',
    )
    await using chat = await openChat(svc, 'ada', { viewport: { width: 360, height: 740 } })
    const { page } = chat
    await chat.sendQuestion('When does the library close?')
    await chat.answered()

    const sources = page.getByRole('region', { name: 'Sources' })
    await sources.waitFor()
    expect(await sources.locator('li').evaluateAll((rows) => rows.map((row) => row.getAttribute('value')))).toEqual([
      given.row,
      given.fees,
      given.hours,
    ])
    expect(await sources.innerText()).toMatch(/courses\.docx[\s\S]*fees\.md\s+Fees[\s\S]*fees\.md\s+Hours/)
    expect(await page.getByRole('article').last().innerText()).not.toContain('[999]')
    await page.reload()
    await sources.waitFor()
    const dialog = page.getByRole('dialog', { name: 'Source' })
    const link = (number: string) => page.getByRole('link', { name: `Source ${number}`, exact: true })
    await expect.poll(() => page.getByRole('link', { name: /^Source \d+$/ }).count()).toBe(3)
    await link(given.row).focus()
    await page.keyboard.press('Enter')
    // The row is in a later part of the table, which begins with the head row.
    await dialog.getByText('Course 140').waitFor()
    expect(await dialog.locator('mark').innerText()).toMatch(/^\| Course \| Fee \|[\s\S]*\| Course 140 \| 340 euros \|/)
    expect(await dialog.locator('mark').innerText()).not.toContain('Course 10 ')
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })
    await waitForFocus(link(given.row))
    const opening = page.waitForRequest(/knowledge\.openCitation/)
    await sources.getByRole('button').last().focus()
    await page.keyboard.press('Enter')
    await dialog.getByText('The library closes at ten.').waitFor()
    const marked = await dialog.locator('mark').innerText()
    expect([marked.includes('closes at ten'), marked.includes('40 euros')]).toEqual([true, false])
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(360)
    await expectAccessible(page)
    await page.keyboard.press('Escape')
    await dialog.waitFor({ state: 'detached' })

    const [address] = /v1\.[\w.-]+/.exec(decodeURIComponent((await opening).url())) ?? []
    await page.goto(`/sources/${address}`)
    await page.getByRole('main').locator('mark').waitFor()
    await expectAccessible(page)
    await handbook.upload('fees.md', fees.replace('ten', 'nine'))
    await handbook.untilRead()
    await page.reload()
    await page.getByText('The file has changed since this answer').waitFor()
    await owner.call('share', { handle, audience: 'private' })
    await page.reload()
    await page.getByText('There is no such source, or you may not open it.').waitFor()
  })
})
