import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { sections as adminSections } from '../../facades/web/app/admin/sections.ts'
import { builtInLabels } from '../../routers/system/labels/index.ts'
import { startApp } from '../kit/app.ts'
import { APPS_ON, addApp } from '../kit/apps/ext-app.ts'
import { addAccount, PASSWORD } from '../kit/browser.ts'
import { buildQuery, makeVerifier, registerProgram } from '../kit/oauth/program.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { shareResource } from '../kit/share-resource.ts'
import { showAdmin } from '../kit/web/admin.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { makeKeys, PASSKEY, signIn, waitForAddress, waitForSettings } from '../kit/web/pages.ts'

const wide = { width: 1280, height: 900 }
const narrow = { width: 360, height: 740 }

const svc = shareResource(() => startApp({ ...APPS_ON, ALLOW_USER_TOKEN_CREATION: 'true' }))

/** Records a page's faults: policy violations, errors, failed requests, and requests to other hosts. */
function watch(page: Page): string[] {
  const faults: string[] = []
  page.on('console', (message) => message.type() === 'error' && faults.push(message.text()))
  page.on('pageerror', (error) => faults.push(error.message))
  page.on('request', (request) => {
    if (!request.url().startsWith(`${svc.url}/`) && !/^(data|blob):/.test(request.url())) faults.push(request.url())
  })
  page.on('response', (response) => {
    if (response.status() >= 400) faults.push(`${response.status()} ${response.url()}`)
  })
  page.on('requestfailed', (request) => {
    // Leaving a page aborts its open requests.
    if (request.failure()?.errorText !== 'net::ERR_ABORTED')
      faults.push(`${request.failure()?.errorText} ${request.url()}`)
  })
  return faults
}

/** The two looks that views take in turns: each view has the one in English, and the other in German. */
const light = { colorScheme: 'light', size: wide } as const
const dark = { colorScheme: 'dark', size: narrow } as const
const locales = ['en-US', 'de-DE'] as const
type Locale = (typeof locales)[number]

/** Opens the browser of a new person and checks each view. */
async function openViews(locale: Locale, account: string) {
  const { id } = await addAccount(svc, account, { known: false })
  const chromium = await openPage(svc.url, { locale })
  const { page } = chromium
  const faults = watch(page)
  const seen = new Set<string>()
  let excused: RegExp | undefined
  let turn = locales.indexOf(locale)
  const labels = builtInLabels[locale === 'en-US' ? 'en_US' : 'de_DE']
  return {
    ...chromium,
    id,
    seen,
    /** A text in the language of the page. */
    t: (key: string, values: Record<string, string> = {}) =>
      (labels[key] ?? key).replace(/:([a-z]+)\b/g, (word, name: string) => values[name] ?? word),
    /** Checks the current view in its turn's look; `open` reopens a view that a change of size closes. */
    async judge(what: string, open: (isNarrow: boolean) => Promise<void> = async () => {}) {
      seen.add(new URL(page.url()).pathname)
      const { colorScheme, size } = turn++ % 2 === 0 ? light : dark
      await page.emulateMedia({ colorScheme })
      await page.setViewportSize(size)
      await open(size === narrow)
      // A popup needs a moment to move after a resize.
      await expect.poll(() => page.evaluate('document.documentElement.scrollWidth'), { message: what }).toBe(size.width)
      await expectAccessible(page)
      await page.setViewportSize(wide)
      expect([what, faults.filter((fault) => !excused?.test(fault))]).toEqual([what, []])
    },
    /** Failures that the test caused. */
    forgive: () => faults.splice(0),
    /** Expects these failures from now on. */
    excuse(pattern: RegExp) {
      excused = pattern
    },
  }
}
type Views = Awaited<ReturnType<typeof openViews>>

const sections = [
  'profile',
  'links',
  'security',
  'tokens',
  'apps',
  'approvals',
  'usage',
  'data',
  'sessions',
  'appearance',
]

async function judgeBeforeSignIn({ page, judge, t, forgive }: Views, account: string) {
  const invitee = { username: `new-${account}`, email: `new-${account}@example.org`, name: 'New' }
  const { link } = await svc.host.accountInvitations.create(invitee)
  await page.goto(`/invitation${new URL(link).hash}`)
  await page.getByLabel(t('page.invitation.repeat')).waitFor()
  await judge('the page of an invitation')
  await page.goto('/invitation#used')
  await page.reload()
  await page.getByText(t('page.error.invitation_invalid')).waitFor()
  forgive()
  await judge('an invitation that does not work')
  await page.goto('/invitation#cut-off')
  await page.reload()
  await page.getByText(t('page.error.invitation_invalid')).waitFor()
  forgive()
  await page.goto('/login?ended=1')
  await judge('the sign-in after a session')
  await page.fill('[name=account]', account)
  await page.fill('[name=password]', 'wrong')
  await page.click('#login button')
  await page.locator('#login .error[role=status]').waitFor()
  forgive()
  await judge('a refused sign-in')
  await page.goto('/nope')
  forgive()
  await judge('a page that is not there')
  await page.goto('/login')
  await signIn(page, account)
  await judge('the welcome')
  await page.getByRole('link', { name: t('page.register.submit') }).click()
  await waitForAddress(page, /handshake/)
  await judge('the making of keys')
  await makeKeys(page)
  await judge('the recovery code')
  await page.goto('/handshake')
  await page.click('summary')
  await judge('the page that unlocks')
  await page.getByRole('button', { name: t('page.unlock.reset') }).click()
  await page.getByRole('alertdialog').waitFor()
  await judge('the question before a reset')
  await page.goto('/logout')
  await judge('the page that signs out')
}

async function judgeConsent({ page, judge, t }: Views, account: string) {
  const app = await addApp(svc, { name: `Portal ${account}`, needsKeys: false, abilities: ['ai', 'user'] })
  await page.goto(`/connect/${await app.connectRequest(account)}`)
  await page.locator('#connect [type=submit]').waitFor()
  await page.check('input[name=keys][value=given]')
  await judge('the page of consent')
  const query = buildQuery({ clientId: await registerProgram(svc), verifier: makeVerifier() })
  await page.goto(`/oauth/authorize?${query}`)
  await page.getByRole('button', { name: t('page.authorize.allow') }).waitFor()
  await judge('the consent to a program')
}

async function judgeChat({ page, judge, t }: Views) {
  const close = async () => {
    await page.keyboard.press('Escape')
    await page.locator('[role=dialog], [role=menu]').first().waitFor({ state: 'detached' })
  }
  await page.goto('/chat')
  await page.getByRole('button', { name: t('app.chat.demo') }).waitFor()
  await judge('a new chat')
  await page.getByRole('button', { name: t('app.chat.demo') }).click()
  await page.getByRole('button', { name: t('app.composer.send'), exact: true }).click()
  await page.getByRole('button', { name: t('app.message.regenerate'), exact: true }).waitFor()
  await judge('a conversation')
  await page.getByRole('button', { name: t('app.options') }).click()
  await page.getByRole('dialog').waitFor()
  await judge('the options of a conversation')
  await close()
  await page.getByRole('combobox', { name: t('app.model.chosen', { name: '' }).trim() }).click()
  await page.getByRole('combobox', { name: t('app.model.search') }).waitFor()
  await judge('the models')
  await page.keyboard.press('Escape')
  await page.goto('/chat/import')
  await page.getByRole('heading', { name: t('app.import') }).waitFor()
  await judge('the import of conversations')
  await page.goBack()
  const list = page.getByRole('navigation', { name: t('app.conversations') })
  const openList = async (isNarrow: boolean) => {
    if (isNarrow) await page.getByRole('button', { name: t('app.chats') }).click()
    await list.getByRole('link').first().waitFor()
  }
  await judge('the conversations', openList)
  await judge('the menu of the account', async (isNarrow) => {
    await page.reload()
    await openList(isNarrow)
    await page.getByRole('button', { name: t('app.account.of', { name: '' }).trim() }).click()
    await page.getByRole('menu').waitFor()
  })
  const openMenu = async (isNarrow: boolean) => {
    await page.reload()
    await openList(isNarrow)
    await list.getByRole('button').first().click()
    await page.getByRole('menu').waitFor()
  }
  await judge('the menu of a conversation', openMenu)
  await judge('the dialog for a name', async (isNarrow) => {
    await openMenu(isNarrow)
    await page.getByRole('menuitem', { name: t('app.rename') }).click()
    await page.getByRole('textbox', { name: t('app.name') }).waitFor()
  })
}

async function judgeAssistants({ page, judge, t, forgive }: Views, account: string) {
  const handle = `helper-${account}`
  await svc.host.assistants.applyFile({ assistants: [{ handle, name: 'Helper', model: 'demo', owner: account }] })
  await page.goto('/assistants')
  await page.getByText('Helper').first().waitFor()
  await judge('the assistants')
  for (const path of ['new', `${handle}/edit`, `${handle}/history`]) {
    await page.goto(`/assistants/${path}`)
    await page.getByRole('main').getByRole('heading').first().waitFor()
    await judge(`an assistant: ${path}`)
  }
  await page.goto('/sources/unknown')
  await page.getByRole('main').getByRole('heading').waitFor()
  forgive()
  await judge('a passage that is not there')
  await page.goto('/chat/shared')
  await page.getByText(t('app.share.nothing')).waitFor()
  await judge('the page that copies a shared chat, without a link')
}

async function judgeRooms({ page, judge, t }: Views) {
  await page.goto('/rooms')
  await page.getByText(t('app.rooms.about')).waitFor()
  await judge('the page of rooms')
  const dialog = page.getByRole('dialog')
  const openDialog = async () => {
    await page.goto('/rooms')
    // A narrow page without rooms has the button itself.
    await page.getByRole('button', { name: t('app.rooms.new'), exact: true }).click()
    await dialog.getByLabel(t('app.name'), { exact: true }).fill('Thesis group')
  }
  await judge('the dialog for a room', openDialog)
  await openDialog()
  await dialog.getByRole('button', { name: t('app.rooms.create') }).click()
  const main = page.getByRole('main')
  const field = main.getByRole('textbox', { name: t('app.composer.message'), exact: true })
  await field.fill('Who has the **canary**?')
  await field.press('Enter')
  await main.getByRole('article').filter({ hasText: 'canary' }).waitFor()
  await judge('a room')
  await main.getByRole('button', { name: t('app.rooms.members'), exact: true }).click()
  const members = page.getByRole('complementary', { name: t('app.rooms.members') })
  await members.getByRole('button', { name: t('app.rooms.invite'), exact: true }).click()
  await page.getByRole('dialog').getByLabel(t('app.rooms.findPeople')).waitFor()
  await judge('the dialog for an invitation')
  await page.goto('/rooms/join')
  await page.getByRole('main').getByRole('heading').waitFor()
  await judge('the page that an invitation leads to')
}

/** Adds data of every kind, so that the settings are full. */
async function fillSettings(account: string): Promise<void> {
  await svc.rows(
    `insert into access_tokens (user_id, name, hash, abilities, created_at)
     select id, n, md5(n || id) || md5(n), '{ai,user,read,write,keychain}', now()
       from users, unnest(array['x', repeat('W', 16)]) n where username = $1`,
    [account],
  )
  await svc.rows(
    `insert into usage_records (request_id, user_id, model, provider, input_tokens, output_tokens, context, outcome, duration_ms, created_at)
     select gen_random_uuid()::text, id, 'm', 'p', 1200 * n, 340, 'api', 'completed', 10, now() - n * interval '1 day'
       from users, generate_series(1, 5) n where username = $1`,
    [account],
  )
  await svc.rows(
    `insert into shared_links (owner_id, conversation_id, address, sealed_key, audience, ends_at)
     select u.id, min(c.id), rpad(u.id || '-' || day, 22, 'x'), 'a|b|c', 'everybody', now() + day * interval '1 day'
       from users u join conversations c on c.user_id = u.id, unnest(array[-1, 9]) day
      where u.username = $1 group by u.id, day`,
    [account],
  )
  await svc.host.limits.set({ name: `of ${account}`, for: `user:${account}`, cap: 1000, unit: 'requests', per: 'day' })
}

async function judgeSettings({ page, judge, t }: Views, account: string) {
  await fillSettings(account)
  for (const section of sections) {
    await page.goto(`/settings/${section}`)
    await waitForSettings(page)
    await judge(`the settings: ${section}`)
  }
  await page.goto('/settings/tokens')
  await page.getByLabel(t('app.settings.tokenName')).fill('new')
  await page.getByRole('button', { name: t('app.settings.tokenMake') }).click()
  await page.locator('output').first().waitFor()
  await judge('a new token')
  await page.locator('main li button').first().click()
  await page.getByRole('alertdialog').waitFor()
  await judge('the question before a revocation')
}

async function judgeAdministration({ page, judge }: Views, account: string) {
  await svc.rows("update users set role = 'admin' where username = $1", [account])
  const [own] = await svc.rows<{ id: number }>('select id from users where username = $1', [account])
  const [model] = await svc.rows<{ id: number }>('select id from ai_models limit 1')
  for (const path of [...Object.keys(adminSections), `people/${own?.id}`, `models/${model?.id}`]) {
    await showAdmin(page, path)
    await judge(`the administration: ${path}`)
  }
}

async function judgeInterruptions({ page, judge, t, excuse }: Views, account: string) {
  const rules = join(svc.folder, 'announcements', 'rules')
  await mkdir(rules, { recursive: true })
  await writeFile(join(rules, 'en_US.md'), '## Rules\n\nBe **kind**.')
  await svc.host.announcements.publish({ title: 'House rules', view: 'rules', force: true, users: [account] })
  await page.goto('/chat')
  await page.getByRole('button', { name: t('app.announcement.read'), exact: true }).click()
  await page.getByRole('dialog').getByText('kind').waitFor()
  await judge('an announcement')
  excuse(/\b401\b/)
  await page.context().clearCookies()
  await page.getByRole('button', { name: t('page.announcement.accept') }).click()
  await page.getByRole('alertdialog').waitFor()
  await judge('the end of a session')
}

describeWith('chromium')('every view', () => {
  test.for(locales)(
    'in %s fits its size, is accessible and requests nothing elsewhere',
    { timeout: 900_000 },
    async (locale) => {
      const account = `ada-${locale.slice(0, 2)}`
      await using views = await openViews(locale, account)

      await judgeBeforeSignIn(views, account)
      await judgeConsent(views, account)
      await judgeChat(views)
      await judgeAssistants(views, account)
      await judgeRooms(views)
      await judgeSettings(views, account)
      await judgeAdministration(views, account)
      await judgeInterruptions(views, account)

      const unseen = (await addresses()).filter((pattern) => ![...views.seen].some((path) => pattern.test(path)))
      expect(unseen).toEqual([])
    },
  )
})

/** The addresses of the app and its pages in the sources, without mere redirects. */
async function addresses(): Promise<RegExp[]> {
  const read = (file: string) => readFile(join(import.meta.dirname, '../../facades/web', file), 'utf8')
  const [routes, pages] = await Promise.all([read('app/routes.tsx'), read('index.ts')])
  const app = [...routes.matchAll(/path: '([^']+)'/g)].map(([, path]) => path ?? '')
  const before = [...pages.matchAll(/^ {2}\w+: '(\/[^']*)',$/gm)].map(([, path]) => path ?? '')
  const all = [...app, ...before].filter((path) => !['/', '/settings', '/admin'].includes(path))
  expect(all.length).toBeGreaterThan(8)
  const shown = all.flatMap((path) =>
    path === '/settings/$section' ? sections.map((part) => `/settings/${part}`) : path,
  )
  return shown.map((path) => new RegExp(`^${path.replace(/[$:]\w+/g, '[^/]+')}$`))
}

describeWith('chromium')('the keyboard alone', () => {
  test('leads from the sign-in through the first answer to the settings and out again', async () => {
    await addAccount(svc, 'kim', { known: false })
    await using chromium = await openPage(svc.url)
    const { page } = chromium
    const { keyboard } = page
    /** Presses Tab until an element of this name has the focus. */
    const tabTo = async (name: RegExp) => {
      for (let steps = 0; steps < 60; steps++) {
        await keyboard.press('Tab')
        if (name.test(await page.evaluate(focusedName))) return
      }
      throw new Error(`The keyboard does not come to ${name}.`)
    }

    const chooseFromAccount = async (name: RegExp) => {
      await tabTo(/Account of The kim$/)
      await keyboard.press('Enter')
      await page.getByRole('menu', { name: 'Account' }).waitFor()
      for (let steps = 0; steps < 6; steps++) {
        if (name.test(await page.evaluate(focusedName))) return keyboard.press('Enter')
        await keyboard.press('ArrowDown')
      }
      throw new Error(`The arrow keys do not come to ${name}.`)
    }

    await page.goto('/login')
    await page.locator('#login button').waitFor()
    await tabTo(/^Username/)
    await keyboard.type('kim')
    await keyboard.press('Tab')
    await keyboard.type(PASSWORD)
    await keyboard.press('Enter')
    await waitForAddress(page, /register/)
    await tabTo(/^I agree/)
    await keyboard.press('Enter')
    await page.locator('#handshake [type=submit]').waitFor()
    await tabTo(/^Passphrase/)
    await keyboard.type(PASSKEY)
    await tabTo(/^Repeat/)
    await keyboard.type(PASSKEY)
    await keyboard.press('Enter')
    await page.locator('#kept').waitFor({ timeout: 240_000 })
    await tabTo(/^I have saved the code/)
    await keyboard.press('Enter')
    const message = page.getByRole('textbox', { name: 'Message' })
    await message.waitFor()
    if (!(await message.evaluate((field) => field.matches(':focus')))) await tabTo(/^Message$/)
    await keyboard.type('What is a standard error?')
    await keyboard.press('Enter')
    await page.getByText('You wrote 5 words').waitFor()
    await chooseFromAccount(/^Settings$/)
    await waitForSettings(page)
    await tabTo(/^Appearance$/)
    await keyboard.press('Enter')
    await waitForAddress(page, /appearance/)
    await tabTo(/^Deutsch|^English/)
    await tabTo(/^Same as the system/)
    await keyboard.press('ArrowDown')
    await page.locator('html[data-scheme="light"]').waitFor()
    await chooseFromAccount(/^Sign out$/)
    await waitForAddress(page, /logout/)
    await page.locator('#logout').waitFor()
    await tabTo(/^Sign out$/)
    await tabTo(/^Sign out$/)
    await keyboard.press('Enter')
    await waitForAddress(page, /login/)
  })
})

const focusedName = `(() => {
  const { activeElement: element } = document
  return (element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent ?? '').trim()
})()`
