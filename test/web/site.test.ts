import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sharp from 'sharp'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { readEnv } from '../../server/config/env.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { expectAccessible, openPage } from '../kit/web/chromium.ts'
import { openSettings } from '../kit/web/pages.ts'

const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="8" height="8"><script>alert(1)</script><rect width="8" height="8"/></svg>`

let folder: string
let svc: TestApp
const site = {
  SITE_NAME: 'Chat <b>of</b> Musterstadt',
  SITE_ACCENT: '#7a1f5c',
  SITE_IMPRINT_URL: 'https://example.org/imprint',
  SITE_PRIVACY_URL: 'https://example.org/privacy',
  SITE_HELP_URL: 'https://example.org/help?a=1&b=2',
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-site-'))
  await writeFile(join(folder, 'logo.svg'), svg)
  svc = await startApp({ ...site, SITE_LOGO: join(folder, 'logo.svg') })
})
afterAll(async () => {
  await svc[Symbol.asyncDispose]()
  await rm(folder, { recursive: true })
})

/** Runs in the page. */
const readColor = (link: unknown) =>
  (globalThis as unknown as { getComputedStyle: (of: unknown) => { color: string } }).getComputedStyle(link).color

describeWith('chromium')('an installation with a name of its own', () => {
  test.for([
    ['light', 'rgb(122, 31, 92)'],
    ['dark', 'rgb(182, 132, 165)'],
  ] as const)('shows name, logo, colour and links on all of its pages, %s', async ([colorScheme, color]) => {
    const options = { colorScheme, viewport: { width: 360, height: 800 } }
    await using guest = await openPage(svc.url, options)
    await using person = await openSettings(svc, `ada-${colorScheme}`, options)

    await guest.page.goto('/login')
    await person.page.getByRole('button', { name: 'Chats' }).click()
    await person.page.getByRole('dialog').waitFor()

    await guest.page.getByText(`With ${site.SITE_NAME} you ask AI models.`).waitFor()
    for (const { page, complaints } of [guest, person]) {
      expect(await page.title()).toContain(site.SITE_NAME)
      const brand = page.getByRole('link', { name: site.SITE_NAME, exact: true })
      expect((await brand.textContent())?.trim()).toBe(site.SITE_NAME)
      await page.mouse.move(350, 790)
      await expect.poll(() => brand.evaluate(readColor)).toBe(color)
      const logo = brand.locator('img')
      const widthOfLogo = () => logo.evaluate((image) => (image as unknown as { naturalWidth: number }).naturalWidth)
      await expect.poll(widthOfLogo).toBe(8)
      const links = page.getByRole('navigation', { name: 'About this service' }).getByRole('link')
      expect(await links.evaluateAll((all) => all.map((link) => link.getAttribute('href')))).toEqual([
        site.SITE_HELP_URL,
        site.SITE_PRIVACY_URL,
        site.SITE_IMPRINT_URL,
      ])
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(360)
      await expectAccessible(page)
      expect(complaints).toEqual([])
    }
  })

  test('can be installed by its name, with icons made of its logo', async () => {
    await using guest = await openPage(svc.url)
    await guest.page.goto('/login')
    const devTools = await guest.page.context().newCDPSession(guest.page)

    const { errors, url, data = '' } = await devTools.send('Page.getAppManifest')

    expect([errors, url]).toEqual([[], `${svc.url}/manifest.webmanifest`])
    const manifest = JSON.parse(data) as { name: string; start_url: string; icons: { src: string; sizes: string }[] }
    expect(manifest).toMatchObject({ name: site.SITE_NAME, start_url: '/chat', display: 'standalone' })
    const images = manifest.icons.map(async ({ src }) => sharp(await (await fetch(svc.url + src)).bytes()))
    const sizes = (await Promise.all(images)).map(async (image) => {
      const { format, width, height } = await image.metadata()
      return `${format} ${width}x${height}`
    })
    expect(await Promise.all(sizes)).toEqual(manifest.icons.map((icon) => `png ${icon.sizes}`))
    expect(guest.complaints).toEqual([])
  })

  test('serves its logo as an inert, immutable picture apart from the page', async () => {
    const page = await (await fetch(`${svc.url}/login`)).text()
    const address = /<img alt="" height="32" src="([^"]+)"/.exec(page)?.[1] ?? ''

    const { status, headers } = await fetch(svc.url + address)

    expect([status, headers.get('content-type'), headers.get('cache-control')]).toEqual([
      200,
      'image/svg+xml',
      'public, max-age=31536000, immutable',
    ])
    expect(headers.get('content-security-policy')).toMatch(/^default-src 'none';.* sandbox$/)
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(page).not.toContain('<svg')
  })
})

describe('an installation with a wide logo', () => {
  test('has a maskable icon without transparent parts', async () => {
    const wide = '<svg xmlns="http://www.w3.org/2000/svg" width="16" height="4"><rect width="16" height="4"/></svg>'
    await writeFile(join(folder, 'wide.svg'), wide)
    await using own = await startApp({ SITE_LOGO: join(folder, 'wide.svg') })

    const icon = sharp(await (await fetch(`${own.url}/assets/icon-maskable.png`)).bytes())

    expect((await icon.stats()).isOpaque).toBe(true)
  })
})

describe('an installation without a logo', () => {
  test('has icons in its accent colour, and the colours of its pages around them', async () => {
    await using plain = await startApp({ SITE_ACCENT: '#7a1f5c' })
    const page = await (await fetch(`${plain.url}/login`)).text()
    const tokens = await readFile(join(import.meta.dirname, '../../facades/web/tokens.css'), 'utf8')

    const icon = sharp(await (await fetch(`${plain.url}/assets/icon-maskable.png`)).bytes())

    const [corner] = [await icon.removeAlpha().raw().toBuffer()].map((pixels) => pixels.subarray(0, 3).toString('hex'))
    expect(corner).toBe('7a1f5c')
    const [, light, dark] = /--ground: light-dark\((#\w+), (#\w+)\)/.exec(tokens) ?? []
    for (const [scheme, color] of [
      ['light', light],
      ['dark', dark],
    ])
      expect(page).toContain(`<meta name="theme-color" content="${color}" media="(prefers-color-scheme: ${scheme})">`)
  })
})

describe('an installation whose name or looks are wrong', () => {
  test.for([
    ['a light colour', { SITE_ACCENT: '#ffcc00' }, /SITE_ACCENT.*1\.3:1 and must be 4\.5:1; choose a darker colour/],
    [
      'a dark colour for dark pages',
      { SITE_ACCENT: '#0b5cad,#333333' },
      /#333333 for dark pages.*choose a lighter colour/,
    ],
    ['no colour', { SITE_ACCENT: 'red; x' }, /SITE_ACCENT.*must be a colour such as #0b5cad/],
    ['a long name', { SITE_NAME: 'x'.repeat(61) }, /SITE_NAME.*must be at most 60 characters long/],
    ['an address without encryption', { SITE_HELP_URL: 'http://example.org' }, /SITE_HELP_URL.*must begin with https/],
    ['a script as address', { SITE_IMPRINT_URL: 'javascript:alert(1)' }, /SITE_IMPRINT_URL.*must begin with https/],
  ] as const)('with %s does not start, and says why', ([, settings, sentence]) => {
    expect(() => readEnv({ NODE_ENV: 'development', ...settings })).toThrow(sentence)
  })

  test('with an invalid, oversized or missing logo refuses to start with the reason', async () => {
    const large = await sharp({ create: { width: 300, height: 300, channels: 3, background: '#369', noise: noise() } })
      .png()
      .toBuffer()
    const start = async (name: string, body?: string | Buffer) => {
      const file = join(folder, name)
      if (body !== undefined) await writeFile(file, body)
      return startApp({ SITE_LOGO: file })
    }

    await expect(start('page.svg', '<html><svg></svg></html>')).rejects.toThrow(/neither a PNG nor an SVG/)
    await expect(start('large.png', large)).rejects.toThrow(/has more than 200 KB/)
    await expect(start('missing.png')).rejects.toThrow(/there is no such file/)
  })

  test('may have two colours, and a logo in PNG', async () => {
    const png = await sharp({ create: { width: 9, height: 9, channels: 3, background: '#369' } })
      .png()
      .toBuffer()
    await writeFile(join(folder, 'logo.png'), png)
    await using own = await startApp({ SITE_LOGO: join(folder, 'logo.png'), SITE_ACCENT: '#0b5cad, #8ec2ff' })

    const page = await (await fetch(`${own.url}/login`)).text()
    const [style = ''] = /\/assets\/site-\w+\.css/.exec(page) ?? []

    expect(await (await fetch(own.url + style)).text()).toContain('--accent: light-dark(#0b5cad, #8ec2ff)')
    const [logo = ''] = /\/assets\/site-\w+\.png/.exec(page) ?? []
    expect(Buffer.from(await (await fetch(own.url + logo)).arrayBuffer())).toEqual(png)
  })
})

const noise = () => ({ type: 'gaussian', mean: 128, sigma: 60 }) as const
