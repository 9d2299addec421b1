import type { Locator, Page } from 'playwright-core'
import sharp from 'sharp'
import { expect, test } from 'vitest'
import { answers } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import type { TestApp } from '../kit/app.ts'
import { addPerson, buildContent } from '../kit/assistants/people.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { makePdf } from '../kit/sample-files/pdf.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openAdmin } from '../kit/web/admin.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'
import { waitForAddress } from '../kit/web/pages.ts'

const models = [1, 2, 3].map((number) => ({
  id: `mock-${number}`,
  label: `Mock ${number}`,
  external: true,
  tools: ['weather', 'patient'],
}))
// There is no embedding model of this name, so that nothing is embedded meanwhile.
const settings = { EXTENSIONS: 'test/fixtures/extension.ts', KNOWLEDGE_EMBEDDING_MODEL: 'missing' }
const app = shareResource(() => startWithProvider(answers('Look into the catalogue.'), { models }, settings))

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

/** Moves the focus by the tabulator alone. */
async function reach(target: Locator) {
  await target.waitFor()
  for (let steps = 0; steps < 150; steps++) {
    if (await target.evaluate((element) => element === element.ownerDocument.activeElement)) return
    await target.page().keyboard.press('Tab')
  }
  throw new Error(`The tabulator does not reach ${target}.`)
}

async function press(target: Locator, key = 'Enter') {
  await reach(target)
  await target.page().keyboard.press(key)
}

async function type(target: Locator, text: string) {
  await reach(target)
  await target.page().keyboard.insertText(text)
}

/** Adds 400 files before those that wait for an embedding model; one has some vectors already, and one has waited for hours. */
async function addFiles({ rows }: Pick<TestApp, 'rows'>, knowledge: number) {
  await rows(
    `insert into knowledge_files (knowledge_id, path, uuid, mime, bytes, fingerprint, sealed_key, state, passages)
     select $1, 'archiv/' || lpad(n::text, 3, '0') || '.txt', gen_random_uuid(), 'text/plain', 1, n, '', 'ready', 1
       from generate_series(1, 400) n`,
    [knowledge],
  )
  const ofFile = `file_id = (select id from knowledge_files where knowledge_id = $1 and path = $2)`
  await rows(`update knowledge_files set passages = 3 where knowledge_id = $1 and path = $2`, [
    knowledge,
    'fristen.txt',
  ])
  await rows(`update knowledge_embeddings set embedded = 2 where ${ofFile}`, [knowledge, 'fristen.txt'])
  const delay = `delay = 'model', delayed_since = now() - interval '2 hours'`
  await rows(`update knowledge_embeddings set ${delay} where ${ofFile}`, [knowledge, 'orte.txt'])
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
    await page.getByRole('article', { name: 'Message from Thesis helper, version 1' }).waitFor()
    await ada.answered()
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
    // The open gallery of somebody else follows.
    await ben.page.getByRole('link', { name: 'Ask Thesis helper' }).waitFor()

    const instructions = page.getByRole('textbox', { name: 'Instructions' })
    await instructions.fill('Answer as an archivist would.')
    await page.getByText('This is not saved.').waitFor()
    await expect.poll(() => page.evaluate('Object.keys(localStorage).join()')).toContain('assistant:thesis-helper')
    await page.reload()
    await page.getByText('These changes were kept from before.').waitFor()
    await expect.poll(() => instructions.inputValue()).toBe('Answer as an archivist would.')
    await page.getByRole('button', { name: 'Save as a draft' }).click()
    await page.getByText('Version 2 is a draft.').waitFor()
    await page.getByRole('link', { name: 'Versions' }).click()
    await expect.poll(() => page.locator('del').allTextContents()).toEqual(['removed: a', 'removed: librarian'])
    await shot(page, 'history')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Restore version 1' }).click()
    await page.getByText('Version 3 is a copy of version 1.').waitFor()
    const ofHelper = "select number from assistant_versions where name = 'Thesis helper' order by number"
    expect(await svc.rows(ofHelper)).toEqual([{ number: 1 }, { number: 2 }, { number: 3 }])
  })

  test('an assistant with files is made by keyboard alone, in German, dark and narrow', async () => {
    const { svc } = app
    const options = { locale: 'de-DE', colorScheme: 'dark', viewport: { width: 320, height: 740 } } as const
    await using cleo = await openChat(svc, 'cleo', options)
    const { page, complaints } = cleo
    const button = (name: string) => page.getByRole('button', { name, exact: true })
    const field = (name: string) => page.getByRole('textbox', { name, exact: true })
    const look = async (name: string) => {
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
      await expectAccessible(page)
      await shot(page, name)
    }
    await page.goto('/assistants')
    await page.getByRole('main').getByRole('link').first().waitFor()
    await look('gallery-none')
    await press(page.getByRole('main').getByRole('link', { name: /^(Assistent erstellen|Neuer Assistent)$/ }))
    await type(field('Name'), 'Prüfungsamt')
    await reach(field('Kurzname'))
    expect(await field('Kurzname').inputValue()).toBe('pruefungsamt')
    await type(field('Beschreibung'), 'Kennt die Fristen.')
    await type(field('Stichwörter'), 'Prüfung, Frist')
    await type(field('Anweisungen'), 'Antworte kurz.')
    await press(page.getByRole('combobox', { name: 'Modell', exact: true }), 'ArrowDown')
    await press(button('Modell hinzufügen'))
    await press(page.getByRole('combobox', { name: 'Modell 1, das einspringt' }), 'End')
    await press(page.getByRole('checkbox', { name: 'Andere Modelle dürfen antworten' }), 'Space')
    await type(page.getByRole('spinbutton', { name: /^Temperatur/ }), '0.3')
    await press(page.getByRole('radio', { name: 'Alle Werkzeuge des Modells' }), 'ArrowDown')
    await press(page.getByRole('checkbox', { name: 'weather' }), 'Space')
    await press(button('Dateien hinzufügen'))
    const chooser = page.waitForEvent('filechooser')
    await press(button('Dateien auswählen'))
    const file = (name: string, text: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(text) })
    await (await chooser).setFiles([
      file('fristen.txt', 'Die Frist endet am 1. Mai.'),
      file('orte.txt', 'Das Amt ist in Haus 3.'),
      { name: 'bild.pdf', mimeType: 'application/pdf', buffer: Buffer.from('%PDF-1.4 nothing') },
      { name: 'scan.pdf', mimeType: 'application/pdf', buffer: Buffer.from(makePdf({ lines: Array(12).fill('') })) },
    ])
    // Files are read with a low priority, which a busy machine makes them wait for.
    await expect.poll(() => page.getByText(/^Bereit: /).count(), { timeout: 200_000 }).toBe(2)
    await page.getByText('Die Datei ist beschädigt oder keine Datei dieser Art.').waitFor()
    await page.getByText('12 von 12 Seiten haben keinen Text.', { exact: true }).waitFor()
    await look('knowledge')
    await press(button('bild.pdf entfernen'))
    await page.getByText('bild.pdf').waitFor({ state: 'detached' })
    await type(field('Begrüßung'), 'Guten Tag.')
    for (const [at, starter] of ['Wann ist die Frist?', 'Wo ist das Amt?'].entries()) {
      await press(button('Frage hinzufügen'))
      await type(field(`Frage ${at + 1}`), starter)
    }
    await press(button('Entfernen: Frage 2'))
    await look('editor-narrow')
    await press(button('Speichern und veröffentlichen'))
    await page.getByText('Version 1 ist veröffentlicht.').waitFor()
    const [row] = await svc.rows<{ knowledge: number }>(
      `select model, fallback, tools, tags, allow_model_select as "allowModelSelect", knowledge_id as knowledge
         from assistant_versions where name = 'Prüfungsamt' and number = 1`,
    )
    expect(row).toEqual({
      model: 'mock-2',
      fallback: ['mock-3'],
      tools: ['weather'],
      tags: ['Prüfung', 'Frist'],
      allowModelSelect: true,
      knowledge: expect.any(Number),
    })
    await waitForAddress(page, /\/assistants\/pruefungsamt\/edit$/)
    await type(field('Anweisungen'), ' Nenne die Ordnung.')
    await press(button('Als Entwurf speichern'))
    await page.getByText('Version 2 ist ein Entwurf.').waitFor()
    await press(page.getByRole('link', { name: 'Versionen' }))
    await press(button('Was ist neu in Version 2?'))
    await expect.poll(() => page.locator('ins').count()).toBe(1)
    await press(page.getByRole('combobox', { name: 'Von' }), 'ArrowUp')
    await page.getByText('Es gibt keinen Unterschied.').waitFor()
    await look('history-narrow')
    await press(button('Version 2 veröffentlichen'))
    await page.getByRole('alertdialog').waitFor()
    await look('publish-narrow')
    await press(page.getByRole('alertdialog').getByRole('button', { name: 'Veröffentlichen' }))
    await page.getByText('Version 2 ist veröffentlicht.').waitFor()
    await addFiles(svc, row?.knowledge ?? 0)
    await page.reload()
    const changed = page.getByText('Die Dateien haben sich geändert, seit diese Version gespeichert wurde.')
    await expect.poll(() => changed.count()).toBe(2)
    await page.goto('/assistants/pruefungsamt/edit')
    await page.getByText('Dateien 1 bis 200 von 403').waitFor()
    await page.getByRole('button', { name: 'Nächste Dateien' }).click()
    await page.getByText('Dateien 201 bis 400 von 403').waitFor()
    await page.getByRole('button', { name: 'Nächste Dateien' }).click()
    await page.getByText('Dateien 401 bis 403 von 403').waitFor()
    await page.getByText('sind 2 von 3 Abschnitten eingebettet.').waitFor()
    await page.getByText('weil das Einbettungsmodell der Einstellungen fehlt.').waitFor()
    for (const [delay, words] of [
      ['provider', 'seit über einer Stunde auf das Einbettungsmodell.'],
      ['limit', 'seit über einer Stunde auf Platz in einem Limit.'],
    ]) {
      const wait = `update knowledge_embeddings set delay = $1 from knowledge_files f where file_id = f.id and f.path = 'orte.txt'`
      // The job tries again now and then, and writes its own reason.
      await expect
        .poll(async () => {
          await svc.rows(wait, [delay])
          return page.getByText(`${words} Die Wörter werden gefunden.`).count()
        })
        .toBe(1)
    }
    expect(await page.getByRole('button', { name: 'Nächste Dateien' }).isDisabled()).toBe(true)
    await look('files-narrow')
    await page.goto('/assistants')
    await page.getByRole('link', { name: 'Prüfungsamt fragen' }).waitFor()
    await look('gallery-narrow')
    await press(page.getByRole('link', { name: 'Prüfungsamt fragen' }))
    await page.getByText('Guten Tag.').waitFor()
    await look('welcome-narrow')
    await press(button('Wann ist die Frist?'))
    await page.keyboard.press('Enter')
    await page.getByRole('article', { name: 'Nachricht von Prüfungsamt, Version 2' }).waitFor()
    await page.locator('article[aria-busy="true"]').waitFor({ state: 'detached' })
    await svc.rows('delete from knowledge where id = $1', [row?.knowledge])
    await page.goto('/assistants/pruefungsamt/edit')
    await page.getByText('Diese Version hatte Dateien, die sie nicht mehr nutzen kann').waitFor()
    await look('lost-files-narrow')
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
    // Without its feed, the page does not know yet that it is for fewer people.
    await page.route(/users\.changes/, (route) => route.abort())
    await page.reload()
    await page.getByRole('combobox', { name: 'Model: Thesis helper' }).waitFor()
    await owner.call('share', { handle: 'tutor', audience: 'private' })
    await dora.sendQuestion('And how do I end?')
    const gone = page.getByText('There is no assistant “tutor” that you can ask. Its answers stay here.')
    await gone.waitFor()
    await page.getByText('You cannot ask this model or assistant any more. Choose another one.').waitFor()
    await expectAccessible(page)
    await shot(page, 'gone')
    await owner.call('share', { handle: 'tutor', audience: 'groups', groups: ['tutors'] })
    await page.unroute(/users\.changes/)
    await page.reload()
    await page.getByRole('combobox', { name: 'Model: Thesis helper' }).waitFor()
    await owner.call('save', { handle: 'tutor', content: buildContent({ name: 'Tutor' }), publish: true })
    await page.getByRole('combobox', { name: 'Model: Tutor' }).waitFor()
    await owner.call('delete', { handle: 'tutor' })
    await gone.waitFor()
    const send = page.getByRole('button', { name: 'Send', exact: true })
    await page.getByRole('textbox', { name: 'Message', exact: true }).fill('And how do I end?')
    await expect.poll(() => send.isDisabled()).toBe(true)
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
    await expect.poll(() => instructions.inputValue()).toBe('Answer as an editor would.')

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

  test('editors share an assistant with a picture, and one becomes its owner', async () => {
    const { svc, upstream } = app
    await using olga = await openChat(svc, 'olga')
    await using emma = await openChat(svc, 'emma')
    const { page } = olga
    const other = emma.page
    const button = (of: Page, name: string | RegExp) => of.getByRole('button', { name, exact: true })
    const picture = page.locator('main section img')
    await writeAssistant(page, 'Course guide')
    await page.getByRole('combobox', { name: 'Model', exact: true }).selectOption('mock-3')
    await button(page, 'Add a model').click()
    await page.getByRole('combobox', { name: 'Model 1 that takes over' }).selectOption('mock-2')
    await page.getByLabel('People may have another model answer').check()
    await publish(page)

    const choose = (buffer: Buffer) =>
      page.getByLabel('Choose a picture').setInputFiles({ name: 'guide.png', mimeType: 'image/png', buffer })
    await page.getByText('These changes were kept').waitFor({ state: 'detached' })
    await button(page, 'Save the picture').click()
    await page.getByText('Choose a picture first.').waitFor()
    await choose(Buffer.from('no picture'))
    await button(page, 'Save the picture').click()
    await page.locator('form .error, section .error').first().waitFor()
    await choose(Buffer.alloc(3 * 1024 * 1024))
    await button(page, 'Save the picture').click()
    await page.getByText('This file is too large.').waitFor()
    await shot(page, 'picture-wrong')
    const instructions = page.getByRole('textbox', { name: 'Instructions' })
    await instructions.fill('Answer as a guide would.')
    await choose(
      await sharp({ create: { width: 40, height: 40, channels: 3, background: 'teal' } })
        .png()
        .toBuffer(),
    )
    await button(page, 'Save the picture').click()
    await picture.waitFor()
    await page.getByText('Version 2 has this change').or(page.getByText('as version 2')).waitFor()
    await shot(page, 'picture')
    // What was written meanwhile is based on the version with the picture.
    await publish(page)
    await page.getByText('Version 3 is published.').waitFor()

    await page.getByRole('searchbox', { name: 'Editors' }).fill('emma')
    await button(page, 'Add The emma as an editor').click()
    await page.getByLabel('Whoever can ask it may copy it').check()
    await button(page, 'Save sharing').click()
    await page.getByText('This is in effect now.', { exact: true }).waitFor()
    await shot(page, 'editors')

    await other.goto('/assistants/course-guide/edit')
    const text = other.getByRole('textbox', { name: 'Instructions' })
    await expect.poll(() => text.inputValue()).toBe('Answer as a guide would.')
    await other.getByText('Only the owner decides this.').waitFor()
    await text.fill('Answer as a teacher would.')
    await instructions.fill('Answer as a dean would.')
    await publish(page)
    await page.getByText('Version 4 is published.').waitFor()
    await other.getByText('Somebody else has saved version 4 meanwhile.').waitFor()
    await button(other, 'Show the difference').click()
    await expect.poll(() => other.locator('ins').allTextContents()).toEqual(['added: teacher'])
    await expectAccessible(other)
    await shot(other, 'conflict')
    await button(other, 'Go on with mine').click()
    await button(other, 'Save and publish').click()
    await other.getByText('Version 5 is published.').waitFor()

    await text.fill('Answer as a friend would.')
    await button(page, 'Remove: emma').click()
    await button(page, 'Save sharing').click()
    await other.getByText('What you wrote is not saved.').waitFor()
    expect(await text.inputValue()).toBe('Answer as a friend would.')
    await expectAccessible(other)
    await shot(other, 'lost')
    await other.reload()
    await button(other, 'Make a new assistant of it').click()
    await waitForAddress(other, /\/assistants\/new$/)
    await expect.poll(() => text.inputValue()).toBe('Answer as a friend would.')
    await expect.poll(() => other.getByRole('textbox', { name: 'Handle' }).inputValue()).toBe('course-guide-2')
    await page.getByRole('searchbox', { name: 'Editors' }).fill('emma')
    await button(page, 'Add The emma as an editor').click()
    await button(page, 'Save sharing').click()
    await expect.poll(() => svc.rows('select id from assistant_editors')).toHaveLength(1)

    await other.goto('/chat')
    await other.getByRole('combobox', { name: /^Model: / }).click()
    await other.getByRole('combobox', { name: 'Search models' }).fill('course')
    await other.getByRole('option', { name: /Course guide/ }).waitFor()
    await shot(other, 'picker')
    await other.keyboard.press('Enter')
    await other.getByText('Mock 3 answers for it.').waitFor()
    await button(other, 'Chat settings').click()
    await other.getByRole('combobox', { name: 'Model', exact: true }).selectOption('mock-1')
    await expectAccessible(other)
    await shot(other, 'answer-model')
    await button(other, 'Save').click()
    await other.getByText('Mock 1 answers for it.').waitFor()
    await emma.sendQuestion('Where do I begin?')
    await other.getByRole('article', { name: 'Message from Course guide, version 5' }).waitFor()
    await emma.answered()
    expect(upstream.requests.findLast(({ body }) => body.stream)?.body.model).toBe('mock-1')

    await svc.changeCatalogue("update ai_models set active = false where model_id = 'mock-3'")
    await page.goto('/chat?assistant=course-guide')
    await olga.sendQuestion('And where do I end?')
    await page.getByText('Mock 2 answered, as the model of the assistant could not.').waitFor()
    await olga.answered()
    await shot(page, 'fallback')
    await button(page, 'Compare two answers').click()
    await page.getByRole('combobox', { name: /^Second answer by/ }).click()
    await page.getByRole('option', { name: /Mock 1/ }).click()
    await olga.sendQuestion('Who says so?')
    const compared = page.getByRole('article', { name: 'Answer A: Course guide' })
    await compared.getByText('Mock 2 answered, as the model of the assistant could not.').waitFor()
    await olga.answered()
    await button(page, 'Go on with this: Answer A: Course guide').click()
    await compared.waitFor({ state: 'detached' })
    await svc.changeCatalogue("update ai_models set active = false where model_id = 'mock-2'")
    await page.reload()
    await page.getByText('Choose a model that answers for it.').waitFor()
    await expectAccessible(page)
    await shot(page, 'choose-base')
    await page.getByRole('combobox', { name: 'Choose a model for it' }).click()
    await page.getByRole('option', { name: /Mock 1/ }).click()
    await page.getByText('Choose a model that answers for it.').waitFor({ state: 'detached' })
    await olga.sendQuestion('And in between?')
    const findSent = () =>
      upstream.requests.find(({ body }) => body.stream && body.messages?.at(-1)?.content === 'And in between?')
    await expect.poll(findSent).toBeDefined()
    await olga.answered()
    expect([findSent()?.body.model, findSent()?.body.messages[0]]).toEqual([
      'mock-1',
      { role: 'system', content: 'Answer as a teacher would.' },
    ])
    await page.goto('/assistants')
    await page.getByText('In a chat you choose another one for it.').waitFor()
    await page.getByRole('link', { name: 'Ask Course guide' }).click()
    await page.getByText('Choose a model that answers for it.').waitFor()
    await svc.rows("update assistant_versions set allow_model_select = false where name = 'Course guide'")
    await page.reload()
    await page.getByText('“Course guide” cannot answer now').waitFor()
    await page.getByRole('combobox', { name: 'Choose another' }).click()
    await page.getByRole('option', { name: /Mock 1/ }).click()
    await olga.sendQuestion('And then?')
    await page.getByRole('article', { name: 'Message from Mock 1' }).waitFor()
    await olga.answered()
    await page.goto('/assistants')
    await page.getByText('It cannot answer, as you may not ask its model').waitFor()
    await shot(page, 'gallery-off')
    await svc.changeCatalogue("update ai_models set active = true where model_id in ('mock-2', 'mock-3')")

    await page.goto('/assistants/course-guide/edit')
    await button(page, 'Hand over to @emma').click()
    await expectAccessible(page)
    await shot(page, 'hand-over')
    await page.getByRole('alertdialog').getByRole('button', { name: 'Hand over' }).click()
    await page.getByText('Only the owner decides this.').waitFor()
    await button(page, 'Stop editing it').click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Stop editing it' }).click()
    await page.getByText('There are no assistants yet').waitFor()

    await other.goto('/assistants')
    const openMenu = async (entry: string) => {
      await button(other, 'More about Course guide').first().click()
      await other.getByRole('menuitem', { name: entry, exact: true }).click()
    }
    const star = button(other, 'Mark Course guide as a favourite')
    await other.route(/assistants\.favorite/, (route) => route.abort())
    await star.click()
    await other.getByText('The service cannot be reached.').waitFor()
    await expect.poll(() => star.getAttribute('aria-pressed')).toBe('false')
    await expectAccessible(other)
    await shot(other, 'star-failed')
    await other.unroute(/assistants\.favorite/)
    await star.click()
    await other.getByText('The service cannot be reached.').waitFor({ state: 'detached' })
    await expect.poll(() => star.getAttribute('aria-pressed')).toBe('true')
    await openMenu('Copy link')
    await other.getByText('The link is copied.').waitFor()
    await other.getByText('The link is copied.').waitFor({ state: 'detached' })
    await other.evaluate(
      '{ navigator.clipboard.writeText = () => Promise.reject(new Error()); document.execCommand = () => false }',
    )
    await openMenu('Copy link')
    await other.getByText('This could not be copied, as the browser does not allow it.').waitFor()
    await shot(other, 'link-not-copied')
    await openMenu('Copy')
    await other.getByRole('dialog').getByRole('textbox', { name: 'Handle' }).fill('course-guide')
    await other.getByRole('dialog').getByRole('button', { name: 'Copy' }).click()
    await other.getByText('The handle “course-guide” is taken. Choose another one.').waitFor()
    await expectAccessible(other)
    await other.getByRole('dialog').getByRole('textbox', { name: 'Handle' }).fill('my-guide')
    await other.getByRole('dialog').getByRole('button', { name: 'Copy' }).click()
    await waitForAddress(other, /\/assistants\/my-guide\/edit$/)
    await other.getByText('Version 1 is saved. Nothing is published yet.').waitFor()
    await button(other, 'Remove the picture').click()
    await other.getByText('Version 2 has this change. It is not published.').waitFor()
    await other.goto('/assistants')
    await button(other, 'More about Course guide').nth(1).click()
    await other.getByRole('menuitem', { name: 'Copy', exact: true }).click()
    await other.getByRole('dialog').getByRole('button', { name: 'Copy' }).click()
    await waitForAddress(other, /\/assistants\/my-guide-2\/edit$/)
    await other.goto('/assistants')
    await shot(other, 'gallery-two')
    for (const left of [2, 1, 0]) {
      await openMenu('Delete')
      await other.getByRole('alertdialog').getByRole('button', { name: 'Delete' }).click()
      await expect.poll(() => other.getByRole('listitem').filter({ hasText: '@' }).count()).toBe(left)
    }
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
    await page.setViewportSize({ width: 320, height: 740 })
    await press(page.getByRole('button', { name: 'Refuse' }))
    await expect.poll(() => dialog.locator('ins').allTextContents()).toEqual(['added: an', 'added: archivist'])
    await type(dialog.getByLabel('Reason'), 'We have no archive.')
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
    await expectAccessible(page)
    await shot(page, 'review-narrow')
    await press(dialog.getByRole('button', { name: 'Refuse' }))
    await dialog.waitFor({ state: 'detached' })
    await page.getByText('No assistant waits for approval.').waitFor()
    expect((await owner.call('get', { handle: 'helper' })).data).toMatchObject({
      published: 2,
      refusal: { version: 3, reason: 'We have no archive.' },
    })

    // Whoever publishes is told that the version waits.
    await owner.call('share', { handle: 'helper', audience: 'all', editors: ['root'] })
    await page.goto('/assistants/helper/history')
    await page.getByRole('button', { name: 'Publish version 3' }).click()
    await page.getByRole('alertdialog').getByRole('button', { name: 'Publish' }).click()
    await page.getByText('Version 3 waits for the approval of an administrator.').waitFor()
    expect(complaints).toEqual([expect.stringContaining('409')])
  })
})
