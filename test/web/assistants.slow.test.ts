import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { answers } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { addPerson, buildContent } from '../kit/assistants/people.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openAdmin } from '../kit/web/admin.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForAddress } from '../kit/web/pages.ts'

const models = ['mock-1', 'mock-2'].map((id) => ({ id, label: id === 'mock-1' ? 'Mock 1' : 'Mock 2', external: true }))
const app = shareResource(() => startWithProvider(answers('Look into the catalogue.'), { models }))

/** Keeps a picture for whoever looks at the pages with their own eyes, if `SHOTS` names a folder. */
const shot = async (page: Page, name: string) => {
  if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/${name}.png` })
}

/** Writes an assistant into the form of a new one. */
async function writeAssistant(page: Page, name: string) {
  await page.goto('/assistants/new')
  await page.getByRole('textbox', { name: 'Name', exact: true }).fill(name)
  await page.getByLabel('Description').fill('Finds books for a thesis.')
  await page.getByRole('textbox', { name: 'Details' }).fill('It knows the **rules** of the library.')
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
    await page.locator('summary', { hasText: 'Details' }).click()
    await page.getByText('It knows the rules of the library.').waitFor()
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

    await using ben = await openChat(svc, 'ben')
    await ben.page.goto('/assistants')
    await ben.page.getByText('There are no assistants yet').waitFor()
    const people = await svc.rows<{ id: number }>("select id from users where username in ('ada', 'ben')")
    for (const { id } of people) await svc.host.admin.setGroups({ user: { id }, groups: ['staff'] })
    await page.goto('/assistants/thesis-helper/edit')
    await page.getByLabel('Groups', { exact: true }).check()
    await page.getByLabel('staff').check()
    await page.getByRole('button', { name: 'Save sharing' }).click()
    await page.getByText('This is in effect now.').waitFor()
    await ben.page.getByRole('link', { name: 'New chat' }).click()
    await ben.page.getByRole('link', { name: 'Assistants', exact: true }).click()
    await ben.page.getByRole('link', { name: 'Ask Thesis helper' }).waitFor()

    const instructions = page.getByRole('textbox', { name: 'Instructions' })
    await instructions.fill('Answer as an archivist would.')
    await page.getByText('This is not saved.').waitFor()
    await expect.poll(() => page.evaluate('Object.keys(localStorage).join()')).toContain('assistant:thesis-helper')
    await page.reload()
    await page.getByText('These changes were kept from before.').waitFor()
    expect(await instructions.inputValue()).toBe('Answer as an archivist would.')
    await page.getByRole('button', { name: 'Save as a draft' }).click()
    await page.getByText('Version 2 is a draft.').waitFor()
    await page.getByRole('link', { name: 'Versions' }).click()
    await expect.poll(() => page.locator('del').allTextContents()).toEqual(['removed: a', 'removed: librarian'])
    await shot(page, 'history')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Restore version 1' }).click()
    await page.getByText('Version 3 is a copy of version 1.').waitFor()
    const texts = await svc.rows<{ number: number }>('select number from assistant_versions order by number')
    expect(texts.map(({ number }) => number)).toEqual([1, 2, 3])
  })

  test('files are read for an assistant, in German, dark, on a narrow screen', async () => {
    const { svc } = app
    const options = { locale: 'de-DE', colorScheme: 'dark', viewport: { width: 320, height: 740 } } as const
    await using cleo = await openChat(svc, 'cleo', options)
    const { page, complaints } = cleo
    await page.goto('/assistants/new')
    await page.getByRole('textbox', { name: 'Name', exact: true }).fill('Prüfungsamt')
    await page.getByRole('button', { name: 'Dateien hinzufügen' }).click()
    const chooser = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Dateien auswählen' }).click()
    const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
    await (await chooser).setFiles([
      file('fristen.txt', 'Die Frist endet am 1. Mai.'),
      file('orte.txt', 'Das Amt ist in Haus 3.'),
      { name: 'bild.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4 nothing') },
    ])
    await expect.poll(() => page.getByText(/^Bereit: /).count(), { timeout: 60_000 }).toBe(2)
    await page.getByText('Die Datei ist beschädigt oder keine Datei dieser Art.').waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    await expectAccessible(page)
    await shot(page, 'knowledge')
    await page.getByRole('button', { name: 'bild.pdf entfernen' }).click()
    await page.getByText('bild.pdf').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Speichern und veröffentlichen' }).click()
    await page.getByText('Version 1 ist veröffentlicht.').waitFor()
    const [row] = await svc.rows<{ knowledge: number | null }>(
      "select v.knowledge_id as knowledge from assistant_versions v where v.name = 'Prüfungsamt'",
    )
    expect(row?.knowledge).toEqual(expect.any(Number))
    await page.goto('/assistants')
    await page.getByRole('link', { name: 'Prüfungsamt fragen' }).waitFor()
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    await expectAccessible(page)
    await shot(page, 'gallery-narrow')
    expect(complaints).toEqual([])
  })

  test('a person whose assistant is gone chooses another one, and loses no text', async () => {
    const { svc } = app
    const owner = await addPerson(svc, ['tutors'])
    await owner.create('tutor')
    await owner.call('share', { handle: 'tutor', audience: 'groups', groups: ['tutors'] })
    await using dora = await openChat(svc, 'dora')
    const { page } = dora
    const [person] = await svc.rows<{ id: number }>("select id from users where username = 'dora'")
    await svc.host.admin.setGroups({ user: { id: person?.id ?? 0 }, groups: ['tutors'] })
    await page.goto('/chat?assistant=tutor')
    await page.getByText('Hello, what do you write about?').waitFor()
    await dora.sendQuestion('How do I begin?')
    await page.getByRole('article', { name: 'Message from Thesis helper, version 1' }).waitFor()
    await dora.answered()
    await owner.call('delete', { handle: 'tutor' })
    await page.reload()
    await page.getByText('There is no assistant “tutor” that you can ask.').waitFor()
    await expectAccessible(page)
    const send = page.getByRole('button', { name: 'Send', exact: true })
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('And how do I end?')
    expect(await send.isDisabled()).toBe(true)
    await page.getByRole('combobox', { name: 'Choose another' }).click()
    await page.getByRole('option', { name: /Mock 2/ }).click()
    await page.getByText('There is no assistant “tutor”').waitFor({ state: 'detached' })
    await send.click()
    await page.getByRole('article', { name: 'Message from Mock 2' }).waitFor()
    await dora.answered()

    await writeAssistant(page, 'Essay helper')
    const instructions = page.getByRole('textbox', { name: 'Instructions' })
    const creation = Promise.withResolvers<void>()
    await page.route(/assistants\.create/, async (route) => {
      await creation.promise
      await route.continue()
    })
    await page.getByRole('button', { name: 'Save as a draft' }).click()
    await page.getByText('Working …').waitFor()
    await instructions.fill('Answer as an editor would.')
    creation.resolve()
    await waitForAddress(page, /\/assistants\/essay-helper\/edit$/)
    await page.getByText('These changes were kept from before.').waitFor()
    expect(await instructions.inputValue()).toBe('Answer as an editor would.')

    await page.goto('/chat?assistant=essay-helper@1')
    await page.getByRole('combobox', { name: /Essay helper, draft 1/ }).waitFor()
    await dora.sendQuestion('Is it good?')
    await page.getByRole('article', { name: /^Message from Essay helper/ }).waitFor()
    await dora.answered()
    const chat = page.url()
    await page.goto('/assistants/essay-helper/edit')
    await page.getByText('These changes were kept from before.').waitFor()
    await page.getByRole('button', { name: 'Save as a draft' }).click()
    await page.getByText('Version 2 is saved.').waitFor()
    await page.goto(chat)
    await page.getByRole('combobox', { name: /Essay helper, draft 2/ }).waitFor()

    await page.goto('/assistants/essay-helper/edit')
    await page.route(/assistants\.delete/, (route) => route.abort())
    const remove = async () => {
      await page.getByRole('button', { name: 'Delete this assistant' }).click()
      await page.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
    }
    await remove()
    await page.getByText('The service cannot be reached.').waitFor()
    await page.unroute(/assistants\.delete/)
    await remove()
    await page.getByText('There are no assistants yet').waitFor()
  })

  test('an administrator reads word by word what is for all, approves and refuses it', async () => {
    await using reviewed = await startWithProvider(answers('Good day.'), {}, { ASSISTANTS_REVIEW: 'true' })
    const { svc } = reviewed
    const owner = await addPerson(svc)
    await owner.create('helper')
    await owner.shareWithAll('helper')
    await using admin = await openAdmin(svc, 'root', { path: 'assistants' })
    const { page, complaints } = admin
    const dialog = page.getByRole('dialog')

    await page.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByText('Answer as a librarian.').waitFor()
    await expectAccessible(page)
    await shot(page, 'review')
    const later = { description: 'Helps with every thesis.' }
    await owner.call('save', { handle: 'helper', content: buildContent(later), publish: true })
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByText('Version 2 waits for approval now.').waitFor()
    await dialog.getByRole('button', { name: 'Cancel' }).click()
    await page.getByRole('button', { name: 'Approve' }).click()
    await dialog.getByText('Helps with every thesis.').waitFor()
    await dialog.getByRole('button', { name: 'Approve' }).click()
    await dialog.waitFor({ state: 'detached' })
    expect((await owner.call('get', { handle: 'helper' })).data).toMatchObject({ audience: 'all', waiting: null })

    const content = buildContent({ ...later, systemPrompt: 'Answer as an archivist.' })
    await owner.call('save', { handle: 'helper', content, publish: true })
    await page.reload()
    await page.getByRole('button', { name: 'Refuse' }).click()
    await expect.poll(() => dialog.locator('ins').allTextContents()).toEqual(['added: an', 'added: archivist'])
    await dialog.getByLabel('Reason').fill('We have no archive.')
    await dialog.getByRole('button', { name: 'Refuse' }).click()
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('No assistant waits for approval.').waitFor()
    expect((await owner.call('get', { handle: 'helper' })).data).toMatchObject({
      published: 2,
      refusal: { version: 3, reason: 'We have no archive.' },
    })
    expect(complaints).toEqual([expect.stringContaining('409')])
  })
})
