import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible } from '../kit/web/chromium.ts'

describeWith('chromium')('around a chat', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let upstream: Awaited<ReturnType<typeof startProvider>>

  beforeAll(async () => {
    upstream = resources.use(await startProvider())
    const config = resources.use(
      await writeConfig(upstream.url, {
        more: { systemModels: { title_generation: 'mock-1', prompt_improvement: 'mock-1' } },
      }),
    )
    svc = resources.use(await startApp({ AI_CONFIG: config.file }))
    const rules = join(svc.folder, 'announcements', 'rules')
    await mkdir(rules, { recursive: true })
    await writeFile(join(rules, 'en_US.md'), '## Rules\n\nBe **kind**.')
  })
  afterAll(() => resources.disposeAsync())

  test('files are chosen, dropped or pasted, and are sent with the question', async () => {
    await using chat = await openChat(svc, 'ada')
    const { page } = chat
    upstream.behave = answers('Read it.')
    const files = page.getByRole('list', { name: 'Files' })
    const chosen = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles([{ name: 'notes.txt', mimeType: 'text/plain', buffer: Buffer.from('Nine lives') }])
    await files.getByText('Ready').waitFor()
    await page.evaluate(`(() => {
      const field = document.querySelector('form textarea')
      const pasted = new DataTransfer()
      pasted.items.add(new File([new Uint8Array([77, 90, 0, 1, 255, 0, 254, 3])], 'program.exe', { type: 'application/x-msdownload' }))
      field.dispatchEvent(new ClipboardEvent('paste', { clipboardData: pasted, bubbles: true, cancelable: true }))
    })()`)
    await files.getByText('Files of this kind are not accepted.').waitFor()
    const drag = (kind: string) =>
      page.evaluate(`(() => {
        const dataTransfer = new DataTransfer()
        dataTransfer.items.add(new File(['dropped'], 'dropped.md', { type: 'text/markdown' }))
        const event = new DragEvent('${kind}', { dataTransfer, bubbles: true, cancelable: true })
        document.querySelector('nav').dispatchEvent(event)
        return event.defaultPrevented
      })()`)
    expect(await drag('dragover')).toBe(true)
    await page.getByText('Drop the files to attach them').waitFor()
    expect(await drag('drop')).toBe(true)
    await page.getByText('Drop the files to attach them').waitFor({ state: 'detached' })
    await files.getByText('Ready').nth(1).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Remove program.exe' }).click()
    await page.getByRole('button', { name: 'Remove dropped.md' }).click()

    await chat.sendQuestion('How many?')
    await page.getByText('Read it.').waitFor()
    await chat.answered()

    expect(JSON.stringify(upstream.requests.at(-1)?.body.messages)).toContain('Nine lives')
    await page.reload()
    await page.getByRole('link', { name: 'notes.txt' }).waitFor()
  })

  test('files stay in their draft, in order, and with an edited question', async () => {
    await using chat = await openChat(svc, 'anna')
    const { page } = chat
    upstream.behave = answers('Read it.')
    const listNames = async () => {
      const files = page.getByRole('list', { name: 'Files' }).last().getByRole('listitem')
      return (await files.allTextContents()).map((text) => text.replace('Ready to send', ''))
    }
    const uploads: (() => Promise<void>)[] = []
    await page.route('**/attachments/actions/upload', (route) => void uploads.push(() => route.continue()))
    const chosen = page.waitForEvent('filechooser')
    await page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles(
      ['zebra', 'apple'].map((name) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(`Word of the ${name}`) })),
    )
    await expect.poll(() => uploads.length).toBe(1)
    await uploads[0]?.()
    await expect.poll(() => uploads.length).toBe(2)
    await page.getByText('Ready').waitFor()
    await page.getByRole('link', { name: 'Rooms' }).click()
    await page.getByRole('heading', { level: 1, name: 'Rooms' }).waitFor()
    const measureDraft = () =>
      page.evaluate<number>(`Object.entries(localStorage).find(([name]) => name.endsWith('new:files'))?.[1].length`)
    // The first file joins the draft once it is sealed.
    await expect.poll(measureDraft).toBeGreaterThan(0)
    const ofOne = await measureDraft()
    await uploads[1]?.()
    await page.unroute('**/attachments/actions/upload')
    await expect.poll(measureDraft).toBeGreaterThan(ofOne)
    await page.goto('/chat')
    await expect.poll(listNames).toEqual(['zebra', 'apple'])
    expect(await page.evaluate('JSON.stringify(localStorage)')).not.toContain('zebra')

    await chat.sendQuestion('How many?')
    await page.getByText('Read it.').waitFor()
    await chat.answered()
    await page.reload()
    await page.getByText('Read it.').waitFor()
    await expect.poll(listNames).toEqual(['zebra', 'apple'])
    await page.getByRole('button', { name: 'Edit question' }).click()
    await page.getByRole('textbox', { name: 'Edit question' }).fill(' ')
    await page.getByRole('button', { name: 'Remove apple' }).click()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Send again' }).click()
    await page.getByText('2 of 2').waitFor()
    await chat.answered()
    await page.getByRole('button', { name: 'Edit question' }).click()
    await page.getByRole('button', { name: 'Remove zebra' }).click()
    await expect.poll(() => page.getByRole('button', { name: 'Send again' }).isDisabled()).toBe(true)
    await page.getByRole('button', { name: 'Cancel' }).click()

    const sent = JSON.stringify(upstream.requests.at(-1)?.body.messages)
    expect(sent).toContain('Word of the zebra')
    expect(sent).not.toContain('Word of the apple')
    await expect.poll(listNames).toEqual(['zebra'])
    await page.goto('/chat')
    await page.getByRole('textbox', { name: 'Message' }).waitFor()
    expect(await page.getByRole('list', { name: 'Files' }).count()).toBe(0)
  })

  test('a long pasted text stays in the field until it is a file', async () => {
    await using chat = await openChat(svc, 'lars')
    const { page } = chat
    upstream.behave = answers('Read it.')
    const field = page.getByRole('textbox', { name: 'Message' })
    const offer = page.getByRole('button', { name: 'Attach them as a file' })
    const files = page.getByRole('list', { name: 'Files' })
    const long = 'Nine lives.\r\n'.repeat(900)
    const paste = async (text: string) => {
      await page.evaluate(`(() => {
        const clipboardData = new DataTransfer()
        clipboardData.setData('text/plain', ${JSON.stringify(text)})
        const event = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true })
        document.querySelector('form textarea').dispatchEvent(event)
      })()`)
      await page.keyboard.insertText(text)
    }
    await field.pressSequentially('Count: ')
    await paste('Nine lives.'.repeat(9))
    expect(await offer.count()).toBe(0)
    await paste(long)
    await page.getByText('You have pasted 10,800 characters.').waitFor()
    await expectAccessible(page)
    await page.route('**/attachments/actions/upload', (route) => route.abort())
    await offer.click()
    await files.getByText('cannot be reached').waitFor()
    expect(await field.inputValue()).toContain('Nine lives.\n'.repeat(900))
    await page.unroute('**/attachments/actions/upload')
    await page.getByRole('button', { name: 'Remove Pasted text.txt' }).click()
    await offer.click()
    await files.getByText('Ready').waitFor()
    await expect.poll(() => field.inputValue()).toBe(`Count: ${'Nine lives.'.repeat(9)}`)
    await svc.rows('delete from attachments')
    await page.reload()
    await files.getByText('Pasted text.txt').waitFor()
    await files.getByText('Ready').waitFor()

    for (const hints of [1, 0]) {
      await page.getByRole('button', { name: 'Temporary chat' }).click()
      await expect.poll(() => page.getByText('This chat is not stored.').count()).toBe(hints)
      await files.getByText('Ready').waitFor()
    }

    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('Read it.').waitFor()
    await chat.answered()

    expect(JSON.stringify(upstream.requests.at(-1)?.body.messages)).toContain('Nine lives.\\nNine lives.')
  })

  test('what a model is told first, and its parameters, hold for the conversation', async () => {
    await using chat = await openChat(svc, 'ben')
    const { page } = chat
    upstream.behave = answers('Aye.')
    await chat.sendQuestion('Hello')
    await page.getByText('Aye.').waitFor()
    await chat.answered()
    await page.getByRole('button', { name: 'Chat settings' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Instructions').fill('Talk like a pirate.')
    await dialog.getByLabel('Temperature, 0 to 2').fill('0.3')
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })

    await page.reload()
    await page.getByText('Aye.').waitFor()
    await chat.sendQuestion('Again')
    await expect.poll(() => upstream.requests.at(-1)?.body['temperature']).toBe(0.3)

    expect(upstream.requests.at(-1)?.body.messages[0]).toEqual({ role: 'system', content: 'Talk like a pirate.' })
    const [{ prompt } = { prompt: '' }] = await svc.rows<{ prompt: string }>(
      "select system_prompt as prompt from conversations c join users u on u.id = c.user_id where username = 'ben'",
    )
    expect(prompt).toMatch(/^[\w+/=]+\|[\w+/=]+\|[\w+/=]+$/)
  })

  test('a name is suggested and a question improved by the models for it', async () => {
    await using chat = await openChat(svc, 'cora')
    const { page } = chat
    upstream.behave = answers('Error of means')
    await chat.sendQuestion('What is a standard error?')
    await page.getByText('Error of means').waitFor()
    await chat.answered()
    await page.getByRole('button', { name: /^Options for What is/ }).click()
    await page.getByRole('menuitem', { name: 'Rename' }).click()
    await page.getByRole('button', { name: 'Suggest a name' }).click()
    const name = page.getByRole('textbox', { name: 'Name' })
    await expect.poll(() => name.inputValue()).toBe('Error of means')
    upstream.behave = answers(' ')
    await page.getByRole('button', { name: 'Suggest a name' }).click()
    await page.getByText('The model has suggested no name.').waitFor()
    expect(await name.inputValue()).toBe('Error of means')
    upstream.behave = answers('Error of means')
    await page.getByRole('button', { name: 'Cancel' }).click()

    const field = page.getByRole('textbox', { name: 'Message' })
    await field.fill('whats that')
    await page.getByRole('button', { name: 'Improve the question' }).click()
    await expect.poll(() => field.inputValue()).toBe('Error of means')
    await page.getByRole('button', { name: 'Undo the improvement' }).click()
    await expect.poll(() => field.inputValue()).toBe('whats that')
    const { promise: isWritten, resolve } = Promise.withResolvers<void>()
    upstream.behave = async (request, response) => {
      await isWritten
      await answers('What is that?')(request, response)
    }
    await page.getByRole('button', { name: 'Improve the question' }).click()
    await field.fill('whats that and this')
    resolve()
    await expect.poll(() => page.getByRole('button', { name: 'Improve the question' }).isEnabled()).toBe(true)
    expect(await field.inputValue()).toBe('whats that and this')
  })

  test.for([
    ['system_prompt', 'gita'],
    ['sealed_options', 'hari'],
  ] as const)('a conversation whose %s cannot be decrypted sends nothing', async ([column, account]) => {
    await using chat = await openChat(svc, account)
    const { page } = chat
    upstream.behave = answers('Aye.')
    await chat.sendQuestion('Hello')
    await page.getByText('Aye.').waitFor()
    await chat.answered()
    await svc.rows(
      `update conversations set ${column} = 'AAAA|AAAA|AAAA' where user_id = (select id from users where username = $1)`,
      [account],
    )

    await page.reload()

    await page.getByText('cannot be opened with your key').waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('Again')
    await expect.poll(() => page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true)
  })

  test('a limit shows a meter when near, and a message when reached', async () => {
    await using chat = await openChat(svc, 'dora')
    const { page } = chat
    upstream.behave = answers('One.')
    await svc.host.limits.set({ name: 'few calls', for: 'user:dora', cap: 2, unit: 'requests', per: 'day' })
    for (const question of ['First', 'Second']) {
      await chat.sendQuestion(question)
      await page.getByRole('article').filter({ hasText: question }).waitFor()
      await chat.answered()
    }
    await page.getByText('The limit “few calls” is reached.').waitFor()
    await expectAccessible(page)

    await chat.sendQuestion('Third')

    await page.getByText('The limit “few calls” is used up.').waitFor()
    expect(await page.getByRole('article').filter({ hasText: 'Third' }).count()).toBe(1)
  })

  test('what must be accepted blocks sending until it is', async () => {
    await using chat = await openChat(svc, 'emil')
    const { page } = chat
    upstream.behave = answers('Thanks.')
    await svc.host.announcements.publish({ title: 'House rules', view: 'rules', force: true, users: ['emil'] })
    await page.reload()
    await page.getByText('Please review and accept this first: House rules').waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('May I?')
    // While the chat loads, a question can be sent ahead; it then waits like any other.
    await expect.poll(() => page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true)

    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByRole('dialog').getByText('kind').waitFor()
    await expectAccessible(page)
    await page.getByRole('dialog').getByRole('button', { name: 'I have read this and agree' }).click()
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Send', exact: true }).click()

    await page.getByText('Thanks.').waitFor()
  })

  test('what must be accepted and has no text says whom to ask', async () => {
    await using chat = await openChat(svc, 'fritz')
    const { page } = chat
    const lost = join(svc.folder, 'announcements', 'lost')
    await mkdir(lost, { recursive: true })
    await writeFile(join(lost, 'en_US.md'), 'Lost')
    await svc.host.announcements.publish({ title: 'Lost rules', view: 'lost', force: true, users: ['fritz'] })
    await rm(lost, { recursive: true })
    await page.reload()

    await page.getByRole('button', { name: 'Review' }).click()

    await page.getByRole('dialog').getByText('The text is missing.').waitFor()
    expect(await page.getByRole('dialog').getByRole('button', { name: 'I have read this' }).count()).toBe(0)
  })

  test('who is offline keeps what they write, and sends it once they are back', async () => {
    await using chat = await openChat(svc, 'finn')
    const { page } = chat
    upstream.behave = answers('Here.')
    await page.getByRole('combobox', { name: /^Model: / }).waitFor()
    await page.context().setOffline(true)
    await page.getByText('You are offline.').waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('Anybody there?')
    await expect.poll(() => page.getByRole('button', { name: 'Send', exact: true }).isDisabled()).toBe(true)

    await page.context().setOffline(false)
    await page.getByRole('button', { name: 'Send', exact: true }).click()

    await page.getByText('Here.').waitFor()
  })
})
