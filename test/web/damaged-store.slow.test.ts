import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { addAccount } from '../kit/browser.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openChat } from '../kit/web/chat.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { makeKeys, PASSKEY, signIn, waitForAddress } from '../kit/web/pages.ts'

const awaitRequest = `const result = (request) => new Promise((resolve, reject) => {
  request.onsuccess = () => resolve(request.result)
  request.onerror = () => reject(request.error)
})
const open = () => result(indexedDB.open('svc', 1))
const change = async (act) => {
  const db = await open()
  const keys = db.transaction('keys', 'readwrite').objectStore('keys')
  await act(keys)
  db.close()
}`

/** Scripts that damage the store for keys, by what they leave there. */
const damages = {
  'without its table': `await result(indexedDB.deleteDatabase('svc')); (await open()).close()`,
  'of a later version': `(await result(indexedDB.open('svc', 7))).close()`,
  'with a text for a key': `await change(async (keys) => {
    const { owner } = await result(keys.get('passkey'))
    await result(keys.put({ owner, key: 'no key' }, 'passkey'))
  })`,
  'with something else for a key': `await change((keys) => result(keys.put(7, 'passkey')))`,
  'with a key that does not fit': `const key = await crypto.subtle.importKey('raw', new Uint8Array(32), 'AES-GCM', false, ['encrypt', 'decrypt'])
    await change(async (keys) => {
      const stored = await result(keys.get('passkey'))
      const other = stored.key.wrapping === undefined ? key : { ...stored.key, key }
      await result(keys.put({ ...stored, key: other }, 'passkey'))
    })`,
}

/** Makes a browser forbid the store, as for pages without cookies. */
const FORBID = `for (const name of ['open', 'deleteDatabase'])
  IDBFactory.prototype[name] = () => { throw new DOMException('Forbidden', 'SecurityError') }`

const pages = ['/settings/profile', '/rooms', '/chat']

describeWith('chromium')('a store for keys', () => {
  const resources = new AsyncDisposableStack()
  let svc: TestApp
  let chat: Awaited<ReturnType<typeof openChat>>

  beforeAll(async () => {
    svc = resources.use(await startApp())
    chat = resources.use(await openChat(svc, 'ada'))
  })
  afterAll(() => resources.disposeAsync())

  /** Runs a script where no page of the service reads the store. */
  async function damage(page: Page, script: string): Promise<void> {
    await page.goto('/health/live')
    await page.evaluate(`(async () => { ${awaitRequest}\n${script} })()`)
  }

  const tellsDamage = (page: Page) => page.getByText('Nothing of yours is lost').waitFor()
  const beginAnew = (page: Page) => page.getByRole('button', { name: 'Start over in this browser' })

  test.each(Object.entries(damages))('%s is told on every page, and is begun anew', async (_, script) => {
    const { page } = chat
    await damage(page, script)
    for (const path of pages) {
      await page.goto(path)
      await tellsDamage(page)
    }
    await expectAccessible(page)

    await beginAnew(page).click()
    await page.fill('[name=passkey]', PASSKEY)
    await page.click('#unlock [type=submit]')

    await page.getByRole('textbox', { name: 'Message' }).waitFor()
  })

  test('without its table is told where the passkey is entered, and is begun anew', async () => {
    const { page } = chat
    await damage(page, damages['without its table'])
    await page.goto('/handshake?redirectUri=/chat')
    await tellsDamage(page)
    await page.fill('[name=passkey]', PASSKEY)
    await page.click('#unlock [type=submit]')
    await page.locator('#unlock [role=status]').getByText('Nothing of yours is lost').waitFor()
    await expectAccessible(page)

    await beginAnew(page).click()
    const said = page.getByText('Nothing of yours is lost').filter({ visible: true })
    await expect.poll(() => said.count()).toBe(0)
    await page.fill('[name=passkey]', PASSKEY)
    await page.click('#unlock [type=submit]')

    await page.getByRole('textbox', { name: 'Message' }).waitFor()
  })

  test('that a browser forbids says what to allow', async () => {
    const { page } = chat
    await using other = await openForbidden(page)

    await other.page.goto('/chat')
    await tellsDamage(other.page)
    await beginAnew(other.page).click()

    await other.page.getByText('allow cookies and site data').waitFor()
    await other.page.goto('/logout')
    await other.page.click('#logout button')
    await waitForAddress(other.page, /login/)
  })

  test('that a browser forbids never hides the recovery code', async () => {
    await addAccount(svc, 'ben', { known: false })
    await using own = await openPage(svc.url)
    await own.page.addInitScript(FORBID)
    await signIn(own.page, 'ben')

    expect(await makeKeys(own.page)).toMatch(/^\w{4}(-\w{4})+$/)
  })

  test('and a service that fails afterwards never hide the recovery code', async () => {
    await addAccount(svc, 'dan', { known: false })
    await using own = await openPage(svc.url)
    await signIn(own.page, 'dan')
    await own.page.route('**/handshake', async (route) => {
      if (route.request().method() !== 'POST') return route.continue()
      const response = await route.fetch()
      await own.page.route('**/connections/*', (next) => next.fulfill({ status: 503, json: {} }))
      return route.fulfill({ response })
    })

    expect(await makeKeys(own.page)).toMatch(/^\w{4}(-\w{4})+$/)
  })

  test('for drafts, options and unsent messages may be damaged without any harm', async () => {
    await using own = await openChat(svc, 'cleo')
    const { page } = own
    await own.sendQuestion('First')
    await page.getByText('You wrote').waitFor()
    await own.answered()
    await page.evaluate(`(() => {
      const slug = location.pathname.split('/').at(-1)
      localStorage.setItem('svc:options:' + slug, '{"parameters":')
      for (const key of Object.keys(localStorage)) if (key.startsWith('svc:draft')) localStorage.setItem(key, '{')
    })()`)

    await page.reload()

    await page.getByText('You wrote').waitFor()
    await own.sendQuestion('Second')
    await own.answered()
  })

  test('that is full neither stops a question nor sends it twice', async () => {
    await using own = await openChat(svc, 'flo')
    const { page } = own
    await page.evaluate(`Storage.prototype.setItem = () => { throw new DOMException('Full', 'QuotaExceededError') }`)

    await own.sendQuestion('First one')
    await page.getByText('You wrote 2 words').waitFor()
    await own.answered()
    await own.sendQuestion('And a second')
    await page.getByText('You wrote 3 words').waitFor()
    await own.answered()

    expect(await own.messages().count()).toBe(4)
    expect(
      await svc.rows("select last_seq from conversations c join users u on u.id = c.user_id where username = 'flo'"),
    ).toEqual([{ last_seq: 4 }])
  })

  /** Opens another page of the same person, whose browser forbids the store. */
  async function openForbidden(of: Page) {
    const page = await of.context().newPage()
    await page.addInitScript(FORBID)
    return { page, [Symbol.asyncDispose]: () => page.close() }
  }
})
