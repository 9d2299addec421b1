import { readFile } from 'node:fs/promises'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeLinkKey, type SharedCopy, sealCopy } from '../../facades/web/app/shared/shared-copy.ts'
import {
  answers,
  type Behaviour,
  beginStream,
  buildChunk,
  callsTool,
  endStream,
  startProvider,
  writeConfig,
} from '../kit/ai/provider.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { APP_KEY } from '../kit/identity/sessions.ts'
import { startToolServer } from '../kit/mcp/tool-server.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { PNG } from '../kit/rooms/attachments.ts'
import { addSharer } from '../kit/rooms/shared-links.ts'
import { expectFitting, openAdmin } from '../kit/web/admin.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { PASSKEY, showSettings, waitForAddress } from '../kit/web/pages.ts'

const answer = `The canary answer has **bold words**, a formula $a^2 + b^2$, and a table:

| Course | Fee |
|---|---|
| Pottery | 40 |

\`\`\`js
const canary = 1
\`\`\`
`

/** Calls a tool, and answers then with a page that it cites. */
const citesAfterTool: Behaviour = (received, response) => {
  if (!received.body.messages.some(({ role }) => role === 'tool'))
    return callsTool('mail_echo', '{"text":"to the harbour"}')(received, response)
  beginStream(response)
  const citation = { url: 'https://chess.example.org/e4', title: 'Openings', start_index: 0, end_index: 5 }
  response.write(buildChunk({ delta: { content: 'The first answer.' } }))
  response.write(buildChunk({ delta: { annotations: [{ type: 'url_citation', url_citation: citation }] } }))
  endStream(response)
}

describeWith('chromium')('a chat that is shared by a link', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let settings: Record<string, string>
  let upstream: Awaited<ReturnType<typeof startProvider>>
  beforeAll(async () => {
    const server = resources.use(await startToolServer())
    upstream = resources.use(await startProvider())
    const mcpServers = [{ label: 'Mail', url: server.url, requireApproval: 'never' }]
    const provider = { models: [{ id: 'mock-1', label: 'First', tools: ['mail_echo'] }] }
    const config = resources.use(await writeConfig(upstream.url, { provider, more: { mcpServers } }))
    settings = { AI_CONFIG: config.file, APP_KEY }
    svc = resources.use(await startApp({ ...settings, SHARED_LINKS: 'everybody', SHARED_LINKS_PER_PERSON: '2' }))
    await svc.host.mcp.sync()
    const [known] = await svc.host.mcp.tools()
    await svc.host.mcp.approve({ name: 'mail_echo', hash: known?.hash ?? '' })
  })
  afterAll(() => resources.disposeAsync())

  const findDialog = (page: Page) => page.getByRole('dialog', { name: 'Share this chat' })

  /** Makes a link in the dialog, which stays open, and returns the link. */
  async function share(
    page: Page,
    { readers, also = [] }: { readers?: string; also?: string[] } = {},
  ): Promise<string> {
    const dialog = findDialog(page)
    if (!(await dialog.isVisible())) await page.getByRole('button', { name: 'Share this chat' }).click()
    await dialog.getByRole('button', { name: 'Make a link' }).waitFor()
    const links = dialog.getByRole('textbox', { name: /^Link/ })
    const count = await links.count()
    if (readers) await dialog.getByLabel('Readers').selectOption({ label: readers })
    for (const part of also) await dialog.getByRole('checkbox', { name: part }).check()
    await dialog.getByRole('button', { name: 'Make a link' }).click()
    await expect.poll(() => links.count()).toBe(count + 1)
    // The link is listed before its copy is stored.
    await expect.poll(() => dialog.getByRole('button', { name: 'Make a link' }).isEnabled()).toBe(true)
    return links.first().inputValue()
  }

  /** Scrolls the dialog on a small phone, whose buttons stay in sight. */
  async function expectButtonsInSight(page: Page): Promise<void> {
    await page.setViewportSize({ width: 360, height: 560 })
    const dialog = findDialog(page)
    for (const position of [0, 10_000]) {
      const hasMore = await dialog.evaluate((element, top) => {
        element.scrollTop = top
        return element.scrollHeight > element.clientHeight
      }, position)
      expect(hasMore).toBe(true)
      if (process.env['VIEWS']) await page.screenshot({ path: `${process.env['VIEWS']}/share-small-${position}.png` })
      const box = await dialog.getByRole('button', { name: 'Make a link' }).boundingBox()
      expect(Number(box?.y) + Number(box?.height)).toBeLessThan(560)
    }
  }

  /** Everything that the service stores and logs, as text. */
  async function dump(): Promise<string> {
    const tables = await svc.rows<{ name: string }>(
      `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
    )
    const rows = await Promise.all(tables.map(({ name }) => svc.rows(`select t::text from "${name}" t`)))
    const files: string[] = []
    for (const store of ['sharedCopies', 'attachments'] as const)
      for await (const { name } of svc.services.files[store].list()) files.push(name)
    return JSON.stringify([rows, files, svc.log])
  }

  /** The sealed copies, without the encryption of the file store around them. */
  async function readSealed(): Promise<string> {
    const rows = await svc.rows<{ name: string; bytes: number; sealedKey: string }>(
      'select uuid as name, bytes, file_key as "sealedKey" from shared_links where uuid is not null',
    )
    const parts: Buffer[] = []
    for (const row of rows)
      for await (const part of svc.services.files.sharedCopies.read(row)) parts.push(Buffer.from(part))
    return Buffer.concat(parts).toString('latin1')
  }

  test('a stranger without an account reads it, and the service never learns the key', async () => {
    upstream.behave = answers(answer, [answer])
    await using chat = await openChat(svc, 'ada')
    const chosen = chat.page.waitForEvent('filechooser')
    await chat.page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles({ name: 'canary.png', mimeType: 'image/png', buffer: Buffer.from(PNG) })
    await chat.page.getByText('canary.png').waitFor()
    await chat.sendQuestion('What is the canary question?')
    await chat.page.getByText('The canary answer has').waitFor()
    await chat.answered()
    upstream.behave = answers('The second version of the canary.')
    await chat.page.getByRole('button', { name: 'Answer again', exact: true }).click()
    await chat.page.getByText('The second version').waitFor()
    await chat.answered()
    await chat.page.getByRole('button', { name: 'Previous version' }).click()
    await chat.page.getByText('The canary answer has').waitFor()
    const link = await share(chat.page, { readers: 'Everybody, also without signing in', also: ['Files'] })
    await expectFitting(chat.page, 'share-dialog')
    await expectButtonsInSight(chat.page)
    await chat.page.setViewportSize({ width: 1280, height: 720 })

    await using stranger = await openPage(svc.url, { locale: 'en-US' })
    const { page } = stranger
    await page.goto(link)
    await page.getByText('The canary answer has').waitFor()
    await page.locator('.katex').first().waitFor()
    await page.getByRole('cell', { name: 'Pottery' }).waitFor()
    await page.locator('pre', { hasText: 'const canary = 1' }).waitFor()
    const picture = page.getByRole('button', { name: 'canary.png' }).locator('img')
    await expect
      .poll(() => picture.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth))
      .toBeGreaterThan(0)
    expect(await page.content()).not.toContain('The second version')
    await expectFitting(page, 'shared')
    const own = /^(data:|blob:)/
    expect(stranger.requests.filter(({ url }) => !own.test(url) && !url.startsWith(svc.url))).toEqual([])

    const key = link.split('#')[1] ?? ''
    expect(key).toMatch(/^[\w-]{43}$/)
    // Neither a worker nor a cache, which would outlive the link, has anything of it.
    const kept = await page.evaluate('Promise.all([navigator.serviceWorker.getRegistrations(), caches.keys()])')
    expect(kept).toEqual([[], []])
    expect(stranger.referrers).toEqual([])
    const all = [await dump(), await readSealed(), JSON.stringify([chat.requests, stranger.requests])]
    for (const text of all) expect(text).not.toContain(key)
    expect(all.slice(0, 2).join('')).not.toMatch(/canary (question|answer)/)

    // What is written later is there once the copy is updated, at the same address.
    await chat.page.keyboard.press('Escape')
    upstream.behave = answers('A later answer.')
    await chat.sendQuestion('What comes later?')
    await chat.page.getByText('A later answer.').waitFor()
    await chat.answered()
    await page.reload()
    await page.getByText('The canary answer has').waitFor()
    expect(await page.content()).not.toContain('A later answer.')
    await chat.page.getByRole('button', { name: 'Share this chat' }).click()
    const dialog = findDialog(chat.page)
    await dialog.getByRole('button', { name: 'Update the copy' }).click()
    await dialog.getByText('The copy is up to date.').waitFor()
    await svc.rows(`update shared_links set ends_at = now() + interval '1 day'`)
    await dialog.getByRole('button', { name: 'Renew for 30 days' }).click()
    await dialog.getByText('The link was renewed.').waitFor()
    const ends = await svc.rows<{ days: number }>(
      'select round(extract(epoch from ends_at - now()) / 86400)::int as days from shared_links',
    )
    expect(ends).toEqual([{ days: 30 }])
    await page.reload()
    await page.getByText('A later answer.').waitFor()
    expect(stranger.complaints).toEqual([])

    // Where others of the network have read too much, a sign-in leads to the same copy.
    await page.route('**/copy', (route) => route.fulfill({ status: 429 }))
    await page.reload()
    await page.getByText('Too many requests have come from your network.').waitFor()
    const signIn = page.getByRole('link', { name: 'Sign in' })
    expect(await signIn.getAttribute('href')).toContain(encodeURIComponent(new URL(link).pathname))
    await expectAccessible(page)
    await page.unroute('**/copy')
    await page.getByRole('button', { name: 'Try again' }).click()
    await page.getByText('A later answer.').waitFor()

    // A key that is not whole opens nothing, and the page says so.
    const last = key.endsWith('A') ? 'B' : 'A'
    const swapped = key.startsWith('x') ? `y${key.slice(1)}` : `x${key.slice(1)}`
    for (const wrong of [swapped, key.slice(0, -1), key.slice(0, -1) + last, '']) {
      await page.goto('about:blank')
      await page.goto(`${link.split('#')[0]}#${wrong}`)
      await page.getByRole('heading', { name: 'This link is incomplete' }).waitFor()
    }
    await expectAccessible(page)

    await page.goto('about:blank')
    await page.goto(link)
    await page.getByText('A later answer.').waitFor()
    await dialog.getByRole('button', { name: 'End the link' }).click()
    await chat.page.getByRole('alertdialog').getByRole('button', { name: 'End the link' }).click()
    await dialog.getByRole('textbox', { name: 'Link', exact: true }).waitFor({ state: 'detached' })
    expect((await page.reload())?.status()).toBe(404)
    await page.getByRole('heading', { name: 'There is nothing to read here' }).waitFor()
    await page.getByRole('link', { name: 'Sign in' }).waitFor()
    await expectAccessible(page)
    expect(await readSealed()).toBe('')
  })

  test("its page loads at most 110 KiB of scripts, in the browser's language", async () => {
    upstream.behave = answers('Kurz.')
    await using chat = await openChat(svc, 'cleo')
    await chat.sendQuestion('Eine Frage')
    await chat.page.getByText('Kurz.').waitFor()
    await chat.answered()
    const link = await share(chat.page, { readers: 'Everybody, also without signing in' })

    await using stranger = await openPage(svc.url, { locale: 'de-DE' })
    const { page } = stranger
    const sizes: number[] = []
    page.on('requestfinished', async (request) => {
      if (request.url().endsWith('.js')) sizes.push((await request.sizes()).responseBodySize)
    })
    await page.goto(link)
    await page.getByRole('link', { name: 'Damit weiterarbeiten' }).waitFor()
    await page.getByRole('heading', { name: 'Frage', exact: true }).waitFor()
    await page.waitForLoadState('networkidle')
    await expectFitting(page, 'shared-de')
    expect(sizes.length).toBeGreaterThan(0)
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(110 * 1024)
    expect(stranger.complaints).toEqual([])
  })

  test('another person signs in, reads it, and continues an encrypted copy once', async () => {
    upstream.behave = citesAfterTool
    await using chat = await openChat(svc, 'dora')
    await chat.page.getByRole('button', { name: 'Chat settings' }).click()
    const settings = chat.page.getByRole('dialog', { name: 'Chat settings' })
    await settings.getByLabel('Instructions').fill('Answer as a pirate.')
    await settings.getByRole('button', { name: 'Save' }).click()
    await settings.waitFor({ state: 'detached' })
    const chosen = chat.page.waitForEvent('filechooser')
    await chat.page.getByRole('button', { name: 'Attach files' }).click()
    await (await chosen).setFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('Nine ships sail') })
    await chat.page.getByText('plan.txt').waitFor()
    await chat.sendQuestion('A question for two')
    await chat.page.getByText('The first answer.').waitFor()
    await chat.answered()
    const bare = await share(chat.page)
    const link = await share(chat.page, {
      also: ['Files', 'Instructions for the model', 'Inputs and results of tools'],
    })
    {
      await using other = await openChat(svc, 'emil')
      await other.page.goto(bare)
      await other.page.getByText('The first answer.').waitFor()
      await other.page.getByText('There are files that were not shared.').waitFor()
      const source = other.page.getByRole('region', { name: 'Sources' }).getByRole('link', { name: 'Openings' })
      expect(await source.getAttribute('href')).toBe('https://chess.example.org/e4')
      await other.page.getByText('used “Mail echo”').click()
      expect(await other.page.content()).not.toMatch(/pirate|plan\.txt|harbour/)
      expect(other.complaints).toEqual([])
    }

    // In a browser that has neither a session nor keys of this person.
    await using reader = await openPage(svc.url, { locale: 'en-US' })
    const { page, complaints } = reader
    await page.goto(link)
    await page.getByText('only for people who have signed in').waitFor()
    await page.getByRole('link', { name: 'Sign in' }).click()
    await page.fill('[name=account]', 'emil')
    await page.fill('[name=password]', 'correct horse battery')
    await page.click('#login button')
    await page.getByText('The first answer.').waitFor()
    expect(page.url()).toBe(link)
    await page.getByText('Instructions for the model').click()
    await page.getByText('Answer as a pirate.').waitFor()
    await page.getByText('used “Mail echo”').click()
    await page.getByRole('heading', { name: 'Result' }).waitFor()
    await page.getByText('"to the harbour"').waitFor()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'plan.txt' }).click(),
    ])
    expect(await readFile(await download.path(), 'utf8')).toBe('Nine ships sail')
    await page.getByRole('link', { name: 'Go on with it' }).click()
    // An attempt that fails in between leaves no copy without instructions behind.
    const update = /\/trpc\/conversations\.update(\?|$)/
    await page.route(update, (route) => route.abort())
    await page.fill('[name=passkey]', PASSKEY)
    await page.click('#unlock [type=submit]')
    await page.getByRole('alert').waitFor()
    await page.unroute(update)
    // Neither does a page that is closed in between.
    const begun = page.waitForRequest(update)
    await page.route(update, () => {})
    await page.getByRole('button', { name: 'Try again' }).click()
    await begun
    await page.unroute(update)
    await page.reload()
    await waitForAddress(page, /\/chat\/[a-z0-9]{16}$/)
    await page.getByText('The first answer.').waitFor()
    await page.getByRole('link', { name: 'plan.txt' }).waitFor()
    upstream.behave = answers('The answer to the copy.')
    await page.getByRole('textbox', { name: 'Message' }).fill('And now?')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('The answer to the copy.').waitFor()
    const sent = JSON.stringify(upstream.requests.at(-1)?.body.messages)
    for (const part of ['pirate', 'Nine ships sail', 'A question for two', 'The first answer.', 'And now?'])
      expect(sent).toContain(part)
    const address = page.url()

    await page.goto(link)
    await page.getByRole('link', { name: 'Go on with it' }).click()
    await waitForAddress(page, address)
    const copies = await svc.rows<{ sealed: boolean }>(
      `select c.sealed_name is not null and c.system_prompt like '%|%' as sealed
         from conversations c join users u on u.id = c.user_id where u.username = 'emil'`,
    )
    expect(copies).toEqual([{ sealed: true }])
    // The page of the link before the sign-in, the way to the passphrase, and the request that failed.
    expect(complaints.filter((text) => !/404|KeysLocked|ERR_FAILED/.test(text))).toEqual([])
  })

  test('a hostile copy loads and runs nothing, beside whole other messages', async () => {
    const owner = await addSharer(svc)
    const evil = 'https://evil.example'
    const attack = [
      `![x](${evil}/1.png) <img src="${evil}/2.png" onerror="window.hacked=1"> [click](javascript:window.hacked=1)`,
      `\`\`\`html\n<script>parent.hacked = 1</script><p>Harmless words</p>\n\`\`\``,
    ].join('\n\n')
    const empty = { citations: [], thoughts: [], tools: [] }
    const message = {
      role: 'assistant',
      model: null,
      modelLabel: '<b>x</b>',
      omittedFiles: 0,
      createdAt: '',
      files: [],
    }
    const script = new Blob(['<svg xmlns="http://www.w3.org/2000/svg" onload="window.hacked=1"/>'])
    const copy = {
      title: '<img src=x onerror="window.hacked=1">',
      sharedAt: 'never',
      instructions: attack,
      messages: [
        {
          ...message,
          answer: { ...empty, text: attack },
          files: [{ name: '../a.svg', mime: 'image/svg+xml', content: script }],
        },
        { ...message, answer: { ...empty, text: 'Wrong parts', citations: [null], tools: [{ state: {} }] } },
        {
          ...message,
          answer: {
            ...empty,
            text: 'It cites a passage [1].',
            citations: [
              { url: `${evil}/sources/../x?y`, passage: { number: 1, path: 'fees.md', page: 3, headings: [] } },
            ],
          },
        },
        ...Array.from({ length: 150 }, (_, at) => ({
          ...message,
          answer: { ...empty, text: `Message ${at} of many` },
        })),
      ],
    }
    const key = makeLinkKey()
    const sealed = await sealCopy(copy as unknown as SharedCopy, key)
    const id = await owner.share({ audience: 'everybody' }, new Uint8Array(await sealed.arrayBuffer()))

    await using stranger = await openPage(svc.url, { locale: 'en-US' })
    const { page } = stranger
    await page.goto(`/s/${id}#${key}`)
    await page.getByText('Message 0 of many').waitFor()
    await page.getByText('Wrong parts').waitFor()
    // Only the service decides who may read a passage, at its own address.
    const passage = page.getByRole('region', { name: 'Sources' }).getByRole('link', { name: 'fees.md' })
    expect(await passage.getAttribute('href')).toBe('/sources/x%3Fy')
    expect(await page.getByRole('button', { name: 'a.svg' }).locator('img').count()).toBe(0)
    await page.getByRole('button', { name: 'Preview' }).click()
    await page.frameLocator('iframe').getByText('Harmless words').waitFor()
    expect(await page.getByText('Message 149 of many').count()).toBe(0)
    await page.getByRole('link', { name: 'Go on with it' }).scrollIntoViewIfNeeded()
    await page.getByText('Message 149 of many').waitFor()

    expect(await page.evaluate('"hacked" in globalThis')).toBe(false)
    const own = /^(data:|blob:)/
    expect(stranger.requests.filter(({ url }) => !own.test(url) && !url.startsWith(svc.url))).toEqual([])
  })

  test('all links are found in the settings, renewed and ended there', async () => {
    upstream.behave = answers('Yes.')
    await using chat = await openChat(svc, 'greta')
    const { page } = chat
    await chat.sendQuestion('Is this mine?')
    await page.getByText('Yes.').waitFor()
    await chat.answered()
    await share(page)
    const link = await share(page, {
      readers: 'Everybody, also without signing in',
      also: ['Instructions for the model'],
    })
    await findDialog(page).getByRole('button', { name: 'Make a link' }).click()
    await page.getByText('Your links have no room for this copy. End some of them first.').waitFor()
    const other = await page.context().newPage()
    await other.goto(page.url())
    await other.getByRole('button', { name: 'Share this chat' }).click()
    const upload = '**/trpc/sharedLinks.upload*'
    await other.route(upload, (route) => route.abort())
    await findDialog(other).getByRole('button', { name: 'Update the copy' }).first().click()
    await other.getByText('The service cannot be reached.').waitFor()
    await showSettings(page, 'links')
    const items = page.getByRole('list', { name: 'Shared chats' }).getByRole('listitem')
    await expect.poll(() => items.count()).toBe(2)
    await items
      .first()
      .getByText(/^Made on .* · 1 kB$/)
      .waitFor()
    await items
      .first()
      .getByText(/^Everybody, also without signing in · .* · Instructions for the model$/)
      .waitFor()
    await expectFitting(page, 'settings-links')
    const buttons = await page.getByRole('button', { name: 'Renew' }).all()
    const names = await Promise.all(buttons.map((each) => each.getAttribute('aria-label')))
    expect(names).toEqual([2, 1].map((number) => `Renew for 30 days: Is this mine? (${number})`))
    const press = async (name: string) => {
      await page.getByRole('button', { name }).first().focus()
      await page.keyboard.press('Enter')
    }
    await press('Renew for 30 days: Is this mine?')
    await page.getByText('The link was renewed.').waitFor()

    // The rules become stricter, in a browser of the service that has no keys.
    {
      const stricter = { ...settings, DATABASE_URL: String(svc.env.DATABASE_URL), SHARED_LINKS_GROUPS: 'staff' }
      await using other = await startApp(stricter)
      const showOther = async (groups: string, text: string) => {
        await svc.rows(`update users set groups = $1 where username = 'greta'`, [groups])
        await expect
          .poll(async () => {
            await showSettings(page, 'links')
            return page.getByText(text).count()
          })
          .toBeGreaterThan(0)
      }
      const open = page.goto.bind(page)
      page.goto = (path, options) => open(new URL(path, other.url).href, options)
      await showOther('{staff}', 'Only people who have signed in can read this copy')
      await expect.poll(() => page.getByRole('button', { name: /^Renew/ }).count()).toBe(2)
      await showOther('{}', 'Nobody else can read this copy at the moment')
      expect(await page.getByRole('button', { name: /^Renew/ }).count()).toBe(0)
      await expectAccessible(page)
      page.goto = open
      // Otherwise the page complains that the other service is gone.
      await showSettings(page, 'links')
    }

    await svc.rows(
      `update shared_links l set ends_at = now() from users u where u.id = l.owner_id and u.username = 'greta'
         and audience = 'people'`,
    )
    await showSettings(page, 'links')
    await items
      .last()
      .getByText(/^Ran out on .*Nobody can read it any more/)
      .waitFor()
    await press('Remove: Is this mine?')
    await page.getByText('The link is gone from the list.').waitFor()
    await expect.poll(() => items.count()).toBe(1)
    await items.getByRole('link', { name: 'Is this mine?' }).click()
    await waitForAddress(page, /\/chat\/[a-z0-9]{16}$/)
    await showSettings(page, 'links')
    await press('End all links')
    await expectAccessible(page)
    await page.getByRole('alertdialog').getByRole('button', { name: 'End all links' }).press('Enter')
    await page.getByText('You share no chat.').waitFor()
    await expect.poll(() => findDialog(other).getByRole('button', { name: 'Update the copy' }).count()).toBe(0)
    await findDialog(other).getByRole('button', { name: 'Make a link' }).waitFor()
    await page.getByText('All links have ended').waitFor()
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Shared chats')
    expect((await page.context().request.get(link)).status()).toBe(404)
    // The link that there was no room for.
    expect(chat.complaints.filter((text) => !/422/.test(text))).toEqual([])
  })

  test('an administrator sees links by person, size and end, and ends one', async () => {
    upstream.behave = answers('Yes.')
    await using chat = await openChat(svc, 'fritz')
    await chat.sendQuestion('Is this listed?')
    await chat.page.getByText('Yes.').waitFor()
    await chat.answered()
    const link = await share(chat.page)

    await using admin = await openAdmin(svc, 'boss', { path: 'links?q=fritz' })
    const { page } = admin
    const row = page.getByRole('row', { name: /fritz/ })
    await row.getByText('Signed in').waitFor()
    await row.getByText(/kB/).waitFor()
    expect(await page.content()).not.toContain(link.split('#')[1])
    await expectFitting(page, 'admin-links')
    await row.getByRole('button', { name: 'End' }).click()
    await page.getByRole('dialog', { name: 'End this link of fritz?' }).getByRole('button', { name: 'End' }).click()
    await expect.poll(async () => (await chat.page.context().request.get(link)).status()).toBe(404)
    await page.getByText('No link matches.').waitFor()
    expect(admin.complaints).toEqual([])

    // The owner sees it in the dialog of the chat, beside another one, until it is taken from the list.
    await chat.page.reload()
    await share(chat.page)
    const links = findDialog(chat.page).getByRole('list', { name: 'Links to this chat' }).getByRole('listitem')
    await expect.poll(() => links.count()).toBe(2)
    await links
      .last()
      .getByText(/^Ended by an administrator on .*Nobody can read it any more/)
      .waitFor()
    expect(await links.last().getByRole('button').count()).toBe(1)
    await expectAccessible(chat.page)
    await findDialog(chat.page).getByRole('button', { name: 'End the link: Link 2', exact: true }).waitFor()
    await links.last().getByRole('button', { name: 'Remove from the list: Link 1', exact: true }).click()
    await expect.poll(() => links.count()).toBe(1)
    await links.getByRole('button', { name: 'End the link', exact: true }).waitFor()
  })
})
