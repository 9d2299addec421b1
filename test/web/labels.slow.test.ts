import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { builtInLabels } from '../../routers/system/labels/index.ts'
import { startApp } from '../kit/app.ts'
import { addAccount } from '../kit/browser.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { openPage } from '../kit/web/chromium.ts'
import { openSettings, showSettings, signIn } from '../kit/web/pages.ts'

const { de_DE: german, en_US: english } = builtInLabels
const placeholders = (text: string) => [...text.matchAll(/:[a-z]+\b/g)].map(([name]) => name).sort()

/** The source of every page and browser module. */
async function sources(): Promise<string> {
  const folder = join(import.meta.dirname, '../../facades/web')
  const files = (await readdir(folder, { recursive: true })).filter((file) => /\.tsx?$/.test(file))
  return (await Promise.all(files.map((file) => readFile(join(folder, file), 'utf8')))).join('\n')
}

test('the labels have equal keys and placeholders in both languages', () => {
  expect(Object.keys(german)).toEqual(Object.keys(english))
  for (const [key, text] of Object.entries(english)) {
    expect([key, german[key]?.trim(), text.trim()]).toEqual([
      key,
      expect.stringMatching(/./),
      expect.stringMatching(/./),
    ])
    expect([key, placeholders(german[key] ?? '')]).toEqual([key, placeholders(text)])
  }
})

test('the labels are there for every key that a page names', async () => {
  const named = [...(await sources()).matchAll(/'((?:page|app)\.[\w.]+)'/g)].map(([, key]) => key!)

  expect(named.length).toBeGreaterThan(80)
  expect(named.filter((key) => english[key] === undefined && english[`${key}.other`] === undefined)).toEqual([])
})

test('every label is used by a page or made from a code', async () => {
  const text = await sources()
  const made =
    /^(app\.(error|field|settings\.(scheme|programKind)|admin\.(reason|program)|audit\.outcome)\b|page\.(error|ability|notFound|outdated|appsOff|forbidden|unavailable|failed|refused|programRefused|programsOff|authorize\.(ability|account|document|registered|tools|prompts|resources))\b)/

  const isNamed = (key: string) => text.includes(`'${key}'`) || text.includes(`'${key.replace(/\.(one|other)$/, '')}'`)
  const unused = Object.keys(english).filter((key) => /^(page|app)\./.test(key) && !made.test(key) && !isNamed(key))

  expect(unused).toEqual([])
})

/** Creates language files in which the text of each label is its key in brackets. */
async function bracketedLabels() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-labels-'))
  const labels = Object.fromEntries(Object.keys(german).map((key) => [key, `[${key}]`]))
  await writeFile(join(folder, 'de_DE.json'), JSON.stringify(labels))
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true }) }
}

/** The words of a page that come from no label, but for those that have one form in all languages. */
async function foreignWords(page: Page): Promise<string[]> {
  // Browsers with scripts see the content of `noscript` as text; ids, names and addresses are no words.
  const texts = (await page.evaluate(`(() => {
    const page = document.documentElement.cloneNode(true)
    const parts = 'noscript, code, output, dd, [data-tint], nav button [aria-hidden], #other-address a'
    for (const part of page.querySelectorAll(parts)) part.remove()
    const spoken = ['aria-label', 'alt', 'title', 'placeholder'].flatMap((name) =>
      [...page.querySelectorAll('[' + name + ']')].map((element) => element.getAttribute(name)))
    const written = document.createNodeIterator(page.querySelector('body'), NodeFilter.SHOW_TEXT)
    const lines = []
    while (written.nextNode()) lines.push(written.referenceNode.textContent)
    return [document.title, ...lines, ...spoken].join(' ')
  })()`)) as string
  const rest = texts.replace(/\[(?:page|app)\.[\w.]+\]/g, ' ')
  return (rest.match(/\p{L}{2,}/gu) ?? []).filter((word) => !['svc', 'Deutsch', 'English'].includes(word))
}

describeWith('chromium')('with labels that give their keys', () => {
  test('every page shows nothing but labels, also when something goes wrong', async () => {
    await using labels = await bracketedLabels()
    await using svc = await startApp({ LABELS_DIR: labels.folder, LOGIN_ATTEMPTS_PER_ACCOUNT: '3' })
    await using chromium = await openSettings(svc, 'ada', { locale: 'de-DE' })
    await using guest = await openPage(svc.url, { locale: 'de-DE' })
    const { page } = chromium

    for (const path of ['/nope', '/login?error=unavailable', '/login?error=x', '/login?ended=1', '/login']) {
      await guest.page.goto(path)
      expect(await foreignWords(guest.page), path).toEqual([])
    }
    for (const expected of [
      'page.login.failed',
      'page.login.failed',
      'page.login.failed',
      'page.error.too_many_requests',
    ]) {
      await guest.page.fill('[name=account]', 'bob')
      await guest.page.fill('[name=password]', 'wrong')
      await guest.page.click('#login button')
      await guest.page.locator('#login:not([aria-busy=true]) .error[role=status]').waitFor()
      await expect.poll(() => guest.page.textContent('#login [role=status]')).toBe(`[${expected}]`)
    }

    for (const path of ['/handshake', '/logout']) {
      await page.goto(path)
      expect(await foreignWords(page), path).toEqual([])
    }
    for (const section of [
      'profile',
      'links',
      'security',
      'apps',
      'usage',
      'data',
      'sessions',
      'appearance',
      'tokens',
    ]) {
      await showSettings(page, section)
      expect(await foreignWords(page), section).toEqual([])
    }
    await page.fill('[name=name]', '7')
    await page.click('form button')
    await page.locator('main li button').click()
    await page.getByRole('alertdialog').waitFor()
    expect(await foreignWords(page)).toEqual([])
  })

  test('whoever registers sees nothing but labels', async () => {
    await using labels = await bracketedLabels()
    await using svc = await startApp({ LABELS_DIR: labels.folder })
    await addAccount(svc, 'eve', { known: false })
    await using chromium = await openPage(svc.url, { locale: 'de-DE' })
    const { page } = chromium
    await signIn(page, 'eve')

    expect(await foreignWords(page)).toEqual([])
    await page.goto('/handshake')
    for (const [passkey, repeated, key] of [
      ['short', 'short', 'page.handshake.short'],
      ['password1', 'password1', 'page.handshake.guessable'],
      ['Correct-Horse-7!', 'Correct-Horse-8!', 'page.handshake.differ'],
    ] as const) {
      await page.fill('[name=passkey]', passkey)
      await page.fill('[name=repeat]', repeated)
      await page.click('#handshake [type=submit]')
      await page.locator('#handshake:not([aria-busy=true]) .error[role=status]').waitFor()
      await expect.poll(() => page.textContent('#handshake .error[role=status]')).toBe(`[${key}]`)
    }
    // The hint names the characters by themselves, and is a label, too.
    expect(await foreignWords(page)).toEqual([])
  })
})
