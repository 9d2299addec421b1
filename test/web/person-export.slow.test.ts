import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { unzipSync } from 'fflate'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { AppFiles } from '../../facades/web/app-files.ts'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { openSettings, PASSKEY, showSettings } from '../kit/web/pages.ts'
import { openRooms } from '../kit/web/rooms.ts'

const svc = shareResource(startApp)

const CANARY = 'a canary in a question'

/** Asks for a copy in the settings, and saves it. */
async function saveCopy(page: Page, folder: string): Promise<string> {
  await showSettings(page, 'data')
  await page.getByRole('button', { name: 'Make a copy' }).click()
  const link = page.getByRole('link', { name: 'Download' })
  await link.waitFor()
  await page.getByText(/is ready\. Its size is [\d.]+ MB\./).waitFor()
  const [download] = await Promise.all([page.waitForEvent('download'), link.click()])
  const path = join(folder, download.suggestedFilename())
  await download.saveAs(path)
  return path
}

async function unpackInto(folder: string, archive: string): Promise<void> {
  for (const [path, content] of Object.entries(unzipSync(await readFile(archive)))) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
}

async function temporaryFolder() {
  const path = await mkdtemp(join(tmpdir(), 'svc-export-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

describeWith('chromium')('a copy of a person’s data', () => {
  test('is made in the settings, and its page opens it offline with the passkey', async () => {
    await using folder = await temporaryFolder()
    await using chat = await openChat(svc, 'ada')
    await chat.page.getByRole('button', { name: 'Chat settings' }).click()
    const settings = chat.page.getByRole('dialog', { name: 'Chat settings' })
    await settings.getByLabel('Instructions').fill('Answer as a pirate.')
    await settings.getByRole('button', { name: 'Save' }).click()
    await settings.waitFor({ state: 'detached' })
    const chosen = chat.page.waitForEvent('filechooser')
    await chat.page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('the plan') })
    await chat.page.getByText('plan.txt').waitFor()
    await chat.sendQuestion(CANARY)
    await chat.answered()
    await expect.poll(() => svc.rows('select id from conversation_messages')).toHaveLength(2)
    await chat.page.getByRole('button', { name: 'Share this chat' }).click()
    const dialog = chat.page.getByRole('dialog', { name: 'Share this chat' })
    for (const part of ['Files', 'Instructions for the model'])
      await dialog.getByRole('checkbox', { name: part }).check()
    await dialog.getByRole('button', { name: 'Make a link' }).click()
    await dialog.getByRole('textbox', { name: 'Link', exact: true }).waitFor()
    // The link is listed before its copy is stored.
    await expect.poll(() => dialog.getByRole('button', { name: 'Make a link' }).isEnabled()).toBe(true)
    const archive = await saveCopy(chat.page, folder.path)
    await expectAccessible(chat.page)
    expect(chat.complaints).toEqual([])
    await unpackInto(join(folder.path, 'copy'), archive)

    await using offline = await openPage('about:blank', { offline: true, locale: 'en-US' })
    const { page, requests, complaints } = offline
    await page.goto(pathToFileURL(join(folder.path, 'copy/open.html')).href)
    await page.getByLabel('ZIP file').setInputFiles(archive)
    await page.getByLabel('Passphrase or recovery code').fill('wrong')
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByText('neither the passphrase nor the recovery code').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Passphrase or recovery code').fill(PASSKEY)
    await page.getByRole('button', { name: 'Open' }).click()
    await page.getByRole('listitem').first().getByRole('button').click()
    await page.getByRole('heading', { name: CANARY }).waitFor()
    await page.getByRole('listitem').getByText(CANARY, { exact: true }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Shared chats' }).click()
    await page.getByRole('listitem').getByRole('button', { name: CANARY }).click()
    await page.getByRole('listitem').getByText('Answer as a pirate.').waitFor()
    await page.getByRole('listitem').getByText(CANARY, { exact: true }).waitFor()
    await expectAccessible(page)
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save plan.txt' }).click(),
    ])
    expect(await readFile(await saved.path(), 'utf8')).toBe('the plan')
    for (const part of ['Rooms', 'Files', 'Everything']) {
      await page.getByRole('button', { name: part }).click()
      await page.getByRole('heading', { name: part, level: 2 }).waitFor()
      await expectAccessible(page)
    }

    expect(
      requests
        .map(({ url }) => new URL(url).protocol)
        .filter((protocol) => protocol !== 'file:' && protocol !== 'blob:'),
    ).toEqual([])
    expect(complaints).toEqual([])
  })

  test('opens rooms and files with the recovery code, from the unpacked folder, in German', async () => {
    await using folder = await temporaryFolder()
    await using svc = await startApp({ KEYCHAIN_FORM: 'reference' })
    await using room = await openRooms(svc, 'bea')
    await room.createRoom('Chess')
    await room.page
      .locator('footer input[type=file]')
      .setInputFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('the plan') })
    await room.page.getByText('plan.txt').waitFor()
    await room.say(CANARY)
    await room.findMessage(CANARY).waitFor()
    await expect.poll(() => svc.rows('select id from attachments where message_id is not null')).toHaveLength(1)
    await room.findMessage(CANARY).hover()
    await room.page.getByRole('button', { name: 'Add a reaction' }).last().click()
    await room.page.getByRole('group', { name: 'Add a reaction' }).getByRole('button', { name: '🎉' }).click()
    await expect.poll(() => svc.rows('select id from room_reactions')).toHaveLength(1)
    const copy = join(folder.path, 'copy')
    await unpackInto(copy, await saveCopy(room.page, folder.path))

    await using offline = await openPage('about:blank', {
      offline: true,
      locale: 'de-DE',
      colorScheme: 'dark',
      viewport: { width: 360, height: 740 },
    })
    const { page, complaints } = offline
    await page.goto(pathToFileURL(join(copy, 'open.html')).href)
    await page.getByLabel('Entpackter Ordner').setInputFiles(copy)
    await page.getByLabel('Passphrase oder Wiederherstellungscode').fill(room.code.toUpperCase())
    await page.getByRole('button', { name: 'Öffnen' }).click()
    await page.getByRole('button', { name: 'Räume' }).click()
    await page.getByRole('button', { name: /Chess/ }).click()
    await page.getByText(CANARY, { exact: true }).waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Reaktion auf Ihre Nachricht' }).getByText('🎉').waitFor()
    await expectAccessible(page)
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
    await page.getByRole('button', { name: 'Dateien' }).click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'plan.txt speichern' }).click(),
    ])
    expect(await readFile(await download.path(), 'utf8')).toBe('the plan')
    await page.getByRole('button', { name: 'Alles' }).click()
    await page.getByText('room-messages').click()
    await page.getByText('"keyEpoch": 0').first().waitFor()
    await expectAccessible(page)
    expect(complaints).toEqual([])
  })

  test('says what is wrong where a file is no archive', async () => {
    await using folder = await temporaryFolder()
    const { readArchivePage } = new AppFiles()
    await writeFile(join(folder.path, 'open.html'), await readArchivePage())
    await writeFile(join(folder.path, 'other.zip'), 'no archive')
    await using offline = await openPage('about:blank', { offline: true, locale: 'en-US' })
    const { page } = offline

    await page.goto(pathToFileURL(join(folder.path, 'open.html')).href)
    await expectAccessible(page)
    await page.getByLabel('ZIP file').setInputFiles(join(folder.path, 'other.zip'))

    await page.getByText('This is no archive of your data').waitFor()
  })

  test('shows progress, failure and the rate limit', async () => {
    await using person = await openSettings(svc, 'cleo', { section: 'data', locale: 'de-DE' })
    const { page, id } = person
    const add = (state: string) =>
      svc.rows(`insert into person_exports (user_id, state, expires_at) values ($1, $2, now() + interval '1 day')`, [
        id,
        state,
      ])
    await page.getByRole('button', { name: 'Kopie erstellen' }).waitFor()

    await add('waiting')
    await showSettings(page, 'data')
    await page.getByText('Die Kopie wird erstellt.').waitFor()
    expect(await page.getByRole('button', { name: 'Neue Kopie erstellen' }).getAttribute('aria-disabled')).toBe('true')
    await svc.rows(`update person_exports set state = 'failed', ended_at = now() where user_id = $1`, [id])
    await page.getByText('konnte nicht erstellt werden').waitFor()
    await expectAccessible(page)
    for (let more = 0; more < 2; more++) await add('failed')
    await page.getByRole('button', { name: 'Neue Kopie erstellen' }).click()

    await page.getByText('innerhalb eines Tages drei Kopien').waitFor()
  })
})
