import { afterAll, beforeAll, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { addKnowledge } from '../kit/assistants/knowledge.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { gatherInRoom, type RoomsPage } from '../kit/web/rooms.ts'

/** Adds knowledge of a person. */
async function addOwnKnowledge(svc: TestApp, id: number) {
  const { token } = await svc.host.tokens.createFor({ user: { id }, name: 'files', abilities: ['read', 'write'] })
  const handbook = await addKnowledge(svc, 'Staff handbook', { id, token })
  await handbook.upload('catalogue.md', 'The catalogue lists all theses.')
  return handbook
}

describeWith('chromium')('assistants in a room', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>
  let ada: RoomsPage
  let ben: RoomsPage
  let handbook: Awaited<ReturnType<typeof addOwnKnowledge>>

  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const config = resources.use(await writeConfig(upstream.url))
    svc = resources.use(await startApp({ AI_CONFIG: config.file }))
    const content = { model: 'mock-1', systemPrompt: 'Answer as a librarian.' }
    await svc.host.assistants.applyFile({
      assistants: [{ handle: 'namesake', name: 'Namesake', audience: 'all', ...content }],
    })
    // A person of that name comes later than the assistant.
    const { people } = resources.use(await gatherInRoom(svc, 'Court', ['adaa', 'namesake']))
    ;[ada, ben] = people
    await svc.rows(`update users set groups = '{staff}' where username = 'adaa'`)
    const [owner] = await svc.rows<{ id: number }>(`select id from users where username = 'adaa'`)
    handbook = await addOwnKnowledge(svc, owner?.id ?? 0)
    const helper = { handle: 'thesis-helper', name: 'Thesis helper', audience: 'groups', groups: ['staff'], ...content }
    await svc.host.assistants.applyFile({
      assistants: [{ ...helper, owner: 'adaa', knowledge: handbook.knowledge } as never],
    })
    await ada.page.reload()
  })
  afterAll(() => resources.disposeAsync())

  test('an assistant is chosen from the suggestions, answers, and is named in the disclosure', async () => {
    const { page } = ada
    await handbook.untilRead()
    const field = page.locator('footer').getByRole('textbox', { name: 'Message' })
    const question = page.locator('form fieldset')
    upstream.behave = answers('Look into the catalogue.')
    await field.fill('')
    await field.focus()
    await page.keyboard.type('@thes')
    await page.getByRole('option', { name: /Thesis helper/ }).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => field.inputValue()).toBe('@thesis-helper ')
    await question.getByText('Thesis helper is asked').waitFor()
    await question.getByText('The answer may quote from: Staff handbook.').waitFor()
    expect(await question.getByRole('button').count()).toBe(0)
    await expectAccessible(page)
    await page.keyboard.type('Where do I begin?')
    await page.keyboard.press('Enter')

    for (const each of [ada, ben]) await each.findMessage('Look into the catalogue.').waitFor()
    const [system] = upstream.requests.at(-1)?.body.messages ?? []
    expect(system?.content).toContain('Answer as a librarian.')
    await page.reload()
    const answer = ada.findMessage('Look into the catalogue.')
    await answer.getByText('Thesis helper').first().waitFor()
    expect(await ada.findMessage('Where do I begin?').locator('.mention').textContent()).toBe('@thesis-helper')
    // Whoever may not use the assistant reads its answer, and which assistant it was.
    await ben.findMessage('Look into the catalogue.').getByText('@thesis-helper').first().waitFor()
    await answer.hover()
    await answer.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'What the model received' }).click()
    await page.getByRole('dialog').getByText('The assistant Thesis helper (@thesis-helper@1) was asked.').waitFor()
    await page.getByRole('dialog').getByText('one passage of its files').waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Escape')
  })

  test('a person who may not use an assistant asks nobody by its handle', async () => {
    const field = ben.page.locator('footer').getByRole('textbox', { name: 'Message' })
    await field.fill('@thesis-helper hello')
    await ben.page.getByRole('button', { name: 'Send' }).waitFor()
    expect(await ben.page.locator('form fieldset').count()).toBe(0)
    await field.fill('')
  })

  test('the handle of a person names the person, unless the assistant is chosen', async () => {
    const { page } = ada
    const field = page.locator('footer').getByRole('textbox', { name: 'Message' })
    const question = page.locator('form fieldset')
    await field.fill('@namesake hello')
    await expect.poll(() => question.count()).toBe(0)
    await field.fill('')
    await field.focus()
    await page.keyboard.type('@namesake')
    await expect.poll(() => page.getByRole('option').count()).toBe(2)
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('Enter')
    await question.getByText('Namesake is asked').waitFor()
    await field.fill('')
  })
})
