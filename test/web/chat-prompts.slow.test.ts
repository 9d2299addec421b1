import { readFile } from 'node:fs/promises'
import { beforeEach, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { addPerson } from '../kit/assistants/people.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'

const CANARY = 'Canary of a prompt that nobody may read'

describeWith('chromium')('prompts in the field of a chat', () => {
  const upstream = shareResource(() => startProvider(answers('An answer.')))
  const config = shareResource(() => writeConfig(upstream.url))
  const svc = shareResource(() => startApp({ AI_CONFIG: config.file }))
  const chat = shareResource(() => openChat(svc, 'ada'))

  beforeEach(async () => {
    await svc.rows('delete from own_prompts')
    await svc.rows('delete from shared_prompts')
    await chat.page.goto('/chat')
  })

  const field = () => chat.page.getByRole('textbox', { name: 'Message' })
  const button = (name: string) => chat.page.getByRole('button', { name, exact: true })
  const option = (name: string) => chat.page.getByRole('option', { name })

  /** Adds prompts that the browser cannot decrypt. */
  const addUnreadable = (count: number) =>
    svc.rows(
      `insert into own_prompts (created_at, updated_at, user_id, sealed)
       select now(), now(), u.id, 'aXY=|dGFn|eA==' from users u cross join generate_series(1, $1::int) where username = 'ada'`,
      [count],
    )

  test('are made, found by typing, filled in, inserted and not sent', async () => {
    const { page } = chat
    await svc.host.prompts.share({
      name: 'Explain like a teacher',
      text: 'Explain {{topic}} in a {{tone: formal, friendly}} way.',
    } as never)
    await addUnreadable(1)
    await field().fill('/')
    await option('Explain like a teacher').waitFor()
    await expectAccessible(page)
    await option('Your prompts').click()
    await button('New prompt').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('Proofread')
    await page.getByRole('textbox', { name: 'Text' }).fill(`${CANARY}: correct my spelling.`)
    await button('Save').click()
    await button('Change the prompt Proofread').waitFor()
    await expectAccessible(page)
    const sealed = await svc.rows<{ sealed: string }>('select sealed from own_prompts')
    expect(sealed).toHaveLength(2)
    expect(JSON.stringify(sealed)).not.toMatch(/Canary|Proofread/)

    const download = page.waitForEvent('download')
    await button('Export to a file').click()
    const exported = await readFile(await (await download).path(), 'utf8')
    expect(JSON.parse(exported)).toEqual({ prompts: [{ name: 'Proofread', text: `${CANARY}: correct my spelling.` }] })
    for (const name of ['Proofread', 'A prompt that this browser cannot decrypt']) {
      await button(`Delete the prompt ${name}`).click()
      await button('Delete').last().click()
      await button(`Delete the prompt ${name}`).waitFor({ state: 'detached' })
    }
    await page.getByText('You have no prompts yet.').waitFor()
    const input = page.locator('input[type=file][accept*=json]')
    await input.setInputFiles({
      name: 'bad.json',
      mimeType: 'application/json',
      buffer: Buffer.from('{"prompts":[{"name":""}]}'),
    })
    await page.getByText('Prompt 1 of this file cannot be imported').waitFor()
    await input.setInputFiles({ name: 'prompts.json', mimeType: 'application/json', buffer: Buffer.from(exported) })
    await button('Change the prompt Proofread').waitFor()

    await addUnreadable(185)
    const long = Array.from({ length: 20 }, (_, n) => ({ name: `Long ${n}`, text: 'long '.repeat(2000) }))
    const buffer = Buffer.from(JSON.stringify({ prompts: long }))
    await input.setInputFiles({ name: 'long.json', mimeType: 'application/json', buffer })
    await page.getByText('14 prompts were imported. 6 are missing.').waitFor()
    await page.getByRole('alert').getByText('You can have at most 200 prompts.').waitFor()
    await button('Change the prompt Long 13').waitFor()
    expect(await button('Change the prompt Long 14').count()).toBe(0)
    await svc.rows("delete from own_prompts where sealed = 'aXY=|dGFn|eA=='")
    await input.setInputFiles({ name: 'long.json', mimeType: 'application/json', buffer })
    await page.getByText('6 prompts were imported. 14 were there already.').waitFor()
    await button('Change the prompt Long 19').waitFor()
    expect(await svc.rows('select id from own_prompts')).toHaveLength(21)
    await button('Close').click()

    await field().fill('Hello\n/proof')
    await option('Proofread').waitFor()
    await field().press('Enter')
    await expect.poll(() => field().inputValue()).toBe(`Hello\n${CANARY}: correct my spelling.`)

    await field().fill('/expl')
    await option('Explain like a teacher').waitFor()
    await field().press('Enter')
    await page.getByRole('textbox', { name: 'topic' }).fill('rain')
    await page.getByRole('combobox', { name: 'tone' }).selectOption('friendly')
    await page.setViewportSize({ width: 360, height: 740 })
    await expectAccessible(page)
    await page.getByRole('textbox', { name: 'topic' }).press('Enter')
    await expect.poll(() => field().inputValue()).toBe('Explain rain in a friendly way.')
    await page.setViewportSize({ width: 1280, height: 740 })
    expect(upstream.requests).toEqual([])
    await field().fill('')
  })

  test('give a folder instructions that only the browser can read, and an assistant', async () => {
    const { page } = chat
    const owner = await addPerson(svc)
    await owner.create('helper', { name: 'Librarian' })
    await owner.shareWithAll('helper')
    await chat.sendQuestion('What is in the folder?')
    await chat.answered()
    await expect.poll(() => page.url()).toMatch(/chat\/./)
    const slug = new URL(page.url()).pathname.slice('/chat/'.length)
    const open = async (folder: string, item: string) => {
      await button(`Options for the folder ${folder}`).click()
      await page.getByRole('menuitem', { name: item }).click()
    }
    const instruct = async (folder: string) => {
      await svc.rows('update conversations set folder = $2 where slug = $1', [slug, folder])
      await page.reload()
      await open(folder, 'Instructions and model')
      await page.getByRole('textbox', { name: 'Instructions' }).fill(`${CANARY} of ${folder}`)
      await page.getByLabel('Model or assistant').selectOption('Librarian')
      await expectAccessible(page)
      await button('Save').click()
      await page.getByRole('dialog').waitFor({ state: 'detached' })
    }
    const other = await page.context().newPage()
    await other.goto('/settings/chats')
    await other.getByRole('button', { name: 'Save', exact: true }).waitFor()
    await instruct('Work')
    // What the other tab has read is older, and none of its folders.
    await other.getByRole('textbox', { name: 'Instructions' }).fill('Be polite.')
    await other.getByRole('button', { name: 'Save', exact: true }).click()
    await other.getByText('Saved.').waitFor()
    await other.close()
    await page.reload()
    expect(JSON.stringify(await svc.rows('select sealed_chat_settings from users'))).not.toContain('Canary')

    upstream.requests.length = 0
    await chat.sendQuestion('And now?')
    await expect.poll(() => JSON.stringify(upstream.requests.map(({ body }) => body))).toContain(`${CANARY} of Work`)
    await chat.answered()

    await instruct('Play')
    await open('Play', 'Rename')
    await page.getByRole('dialog').getByRole('textbox').fill('Work')
    await button('Save').click()
    await button('Options for the folder Work').waitFor()
    upstream.requests.length = 0
    await chat.sendQuestion('And in the other folder?')
    await expect.poll(() => JSON.stringify(upstream.requests.map(({ body }) => body))).toContain(`${CANARY} of Work`)
    expect(JSON.stringify(upstream.requests.map(({ body }) => body))).not.toContain(`${CANARY} of Play`)
    expect(JSON.stringify(upstream.requests.map(({ body }) => body))).toContain('Answer as a librarian.')
    await chat.answered()

    await page.setViewportSize({ width: 360, height: 740 })
    await button('Chats').click()
    await open('Work', 'Remove folder, keep chats')
    await button('Options for the folder Work').waitFor({ state: 'detached' })
    await page.getByRole('link', { name: 'What is in the folder?' }).first().click()
    upstream.requests.length = 0
    await chat.sendQuestion('And without one?')
    await chat.answered()
    expect(JSON.stringify(upstream.requests.map(({ body }) => body))).not.toContain(CANARY)
    await page.setViewportSize({ width: 1280, height: 740 })
  })
})
