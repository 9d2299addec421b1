import { expect, test } from 'vitest'
import { answers, neverEnds, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { openBrowser } from '../kit/browser.ts'
import { cloneDatabase } from '../kit/database.ts'
import { findFreePort } from '../kit/free-port.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { createDataFolder, startProcess } from '../kit/service-process.ts'
import { openChat } from '../kit/web/chat.ts'
import { openPage } from '../kit/web/chromium.ts'
import { makeKeys, signIn } from '../kit/web/pages.ts'

/** Starts the service as a process, and opens the page of a person during an endless answer. */
async function openAnswer() {
  await using resources = new AsyncDisposableStack()
  const provider = resources.use(await startProvider(neverEnds))
  const config = resources.use(await writeConfig(provider.url))
  const database = resources.use(await cloneDatabase())
  const folder = resources.use(await createDataFolder())
  const settings = {
    NODE_ENV: 'development',
    DATABASE_URL: database.url,
    DATA_DIR: folder.path,
    AI_CONFIG: config.file,
  }
  const own = { ...settings, PORT: String(await findFreePort()) }
  const service = resources.use(startProcess(own))
  const url = await service.ready()
  const password = /Password\s+(\S+)/.exec(service.output.out)?.[1] ?? ''
  const chromium = resources.use(await openPage(url))
  const { page } = chromium
  await page.clock.install()
  await signIn(page, 'demo', password)
  await makeKeys(page)
  await page.click('#kept a')
  await page.getByRole('textbox', { name: 'Message' }).fill('Go on and on')
  await page.getByRole('button', { name: 'Send', exact: true }).click()
  await page.getByText('more more').waitFor()
  const moved = resources.move()
  const startAgain = () => moved.use(startProcess(own)).ready()
  return { page, provider, service, startAgain, [Symbol.asyncDispose]: () => moved.disposeAsync() }
}

describeWith('chromium')('an answer whose service', () => {
  test('is killed keeps its text, and is retried once the service is back', async () => {
    await using open = await openAnswer()
    const { page, provider, service } = open

    service.kill('SIGKILL')
    await service.ended
    await page.getByText('The service cannot be reached.').waitFor()
    expect(await page.getByRole('article').filter({ hasText: 'more more' }).count()).toBe(1)
    await page.getByText('This answer was interrupted.').waitFor()
    provider.behave = answers('Here I am again.')
    await open.startAgain()
    await page.getByRole('article').getByRole('button', { name: 'Try again' }).click()

    await page.getByText('Here I am again.').waitFor()
  })

  test('is frozen keeps its text, and is retried once the service continues', async () => {
    await using open = await openAnswer()
    const { page, provider, service } = open

    service.kill('SIGSTOP')
    try {
      const shownLater = (text: string) =>
        expect
          .poll(
            async () => {
              await page.clock.runFor(20_000)
              return page.getByText(text).count()
            },
            { timeout: 200_000 },
          )
          .toBe(1)
      await shownLater('This answer was interrupted.')
      expect(await page.getByRole('article').filter({ hasText: 'more more' }).count()).toBe(1)
      // The page then tries to store the partial answer, which the service does not answer either.
      await shownLater('The service cannot be reached.')
    } finally {
      service.kill('SIGCONT')
    }
    provider.behave = answers('Here I am again.')
    await page.getByRole('article').getByRole('button', { name: 'Try again' }).click()

    await page.getByText('Here I am again.').waitFor()
  })
})

describeWith('chromium')('a chat', () => {
  test("keeps messages and list that can't be read again, and reads them later", async () => {
    await using svc = await startApp()
    await using chat = await openChat(svc, 'cora')
    const { page } = chat
    await chat.sendQuestion('Stay here')
    await page.getByText('You wrote 2 words').waitFor()
    await chat.answered()
    const elsewhere = openBrowser(svc.url)
    await elsewhere.login('cora')
    let failures = 0
    const reads = /conversations\.(messages|list)/
    await page.route(reads, (route) => {
      if (route.request().url().includes('conversations.messages')) failures++
      return route.abort()
    })
    await page.clock.install()

    const slug = page.url().split('/').at(-1)
    const [{ content } = {}] = await svc.rows<{ content: string }>('select content from conversation_messages')
    const message = { slug, content }
    expect((await elsewhere.send('POST', '/trpc/conversations.sendMessage', { body: message })).status).toBe(200)
    // The page reads its messages again, and tries that four times.
    const countFailures = async () => {
      await page.clock.runFor(2000)
      return failures
    }
    await expect.poll(countFailures).toBe(4)
    await page.clock.runFor(2000)

    expect(await page.getByRole('article', { name: 'Your message' }).filter({ hasText: 'Stay here' }).count()).toBe(1)
    const list = page.getByRole('navigation', { name: 'Chats' })
    expect(await list.getByRole('link', { name: 'Stay here' }).count()).toBe(1)
    expect(await list.getByRole('alert').count()).toBe(0)
    await page.unroute(reads)
    expect((await elsewhere.send('POST', '/trpc/conversations.create', { body: { name: 'Other' } })).status).toBe(200)
    await page.getByRole('article', { name: 'Your message' }).filter({ hasText: 'Stay here' }).nth(1).waitFor()
    await page.getByRole('textbox', { name: 'Message' }).fill('Still three words')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('article', { name: 'Your message' }).filter({ hasText: 'Still three words' }).waitFor()
  })
})

describeWith('chromium')('a session', () => {
  test('that ends while somebody writes is renewed in another tab without loss', async () => {
    await using svc = await startApp()
    await using chat = await openChat(svc, 'ada')
    const { page } = chat
    await page.getByRole('textbox', { name: 'Message' }).fill('Half a thought')
    await expect.poll(() => page.getByRole('button', { name: 'Send', exact: true }).isEnabled()).toBe(true)
    await svc.host.admin.setRole({ user: { username: 'ada' }, role: 'admin' })

    // The page may have learnt of the end by itself, and show the dialog above the button.
    await page.getByRole('button', { name: 'Send', exact: true }).dispatchEvent('click')
    const dialog = page.getByRole('alertdialog', { name: 'Your session has ended' })
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      dialog.getByRole('link', { name: 'Sign in again' }).click(),
    ])
    await signIn(tab, 'ada')
    // The keys of this browser are still there.
    await tab.getByRole('textbox', { name: 'Message' }).waitFor()
    await page.bringToFront()
    await dialog.getByRole('button', { name: 'I have signed in' }).click()
    await dialog.waitFor({ state: 'detached' })

    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Half a thought')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('You wrote 3 words').waitFor()
  })

  test('that ended all others still hears of what the person does elsewhere', async () => {
    await using svc = await startApp()
    await using chat = await openChat(svc, 'ben')
    const { page } = chat
    await page.goto('/settings/sessions')
    await openBrowser(svc.url).login('ben')
    await page.reload()
    await page.getByRole('button', { name: 'End all other sessions' }).click()
    await page.getByText('The session has ended.').waitFor()

    const elsewhere = openBrowser(svc.url)
    await elsewhere.login('ben')
    const made = await elsewhere.send('POST', '/trpc/conversations.create', { body: { name: 'From elsewhere' } })
    expect(made.status).toBe(200)

    await page.getByRole('link', { name: 'From elsewhere' }).waitFor()
  })
})
