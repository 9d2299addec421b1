import { glob, mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { buildIfChanged } from '../../facades/web/app-build.ts'
import { AppDevServer } from '../../facades/web/app-dev.ts'
import manifest from '../../package.json' with { type: 'json' }
import { writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { describeWith } from '../kit/parts/with-parts.ts'
import { productionSettings } from '../kit/production.ts'
import { startProcess } from '../kit/service-process.ts'
import { openSettings } from '../kit/web/pages.ts'

const app = join(import.meta.dirname, '../../facades/web/app')
const view = join(app, 'settings/profile-settings.tsx')

describeWith('chromium')('whoever works on the front end', () => {
  test('sees a change of a source at once, in the page as it is', async () => {
    await using svc = await startApp({}, { appSource: new AppDevServer() })
    await using person = await openSettings(svc, 'ada')
    const { page, complaints } = person
    await page.getByLabel('About me').fill('not saved yet')
    const changed = page.waitForEvent('console', (message) => message.text().includes('hot updated'))

    await utimes(view, new Date(), new Date())
    await changed

    expect(await page.getByLabel('About me').inputValue()).toBe('not saved yet')
    // In development React warns of what libraries do; the policy must not forbid what vite does.
    expect(complaints.filter((complaint) => complaint.includes('Content Security Policy'))).toEqual([])
  })
})

test('the sources of the front end are not served in production', async () => {
  const [, ...words] = manifest.scripts.dev.split(' ')
  await using config = await writeConfig('http://127.0.0.1:1')
  await using service = startProcess(
    { ...productionSettings, AI_CONFIG: config.file, DATABASE_URL: 'postgresql://127.0.0.1:1/none' },
    [process.execPath, ...words],
  )

  expect(await service.ended).toBe(1)
  expect(service.output.err).toContain('`npm run dev` serves no production')
})

test('where the packages folder is read-only, the front end is built elsewhere', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'svc-front-end-'))
  try {
    // Not even root makes a folder in a file.
    await writeFile(join(folder, 'file'), '')
    const closed = join(folder, 'file', 'app')
    const open = join(folder, 'open')

    const built = await buildIfChanged([closed, open])

    expect(built.startsWith(open)).toBe(true)
    expect(await readdir(built)).toEqual(expect.arrayContaining([expect.stringMatching(/^main-.+\.js\.br$/)]))
    expect(await buildIfChanged([closed, open])).toBe(built)
    await expect(buildIfChanged([closed])).rejects.toThrow(/none of .+ can be written/)
  } finally {
    await rm(folder, { recursive: true })
  }
})

test('no class has its style in the style sheets of two areas', async () => {
  const owners = new Map<string, string>()
  // The page of the archive is built by itself.
  for await (const file of glob('*/**/*.css', { cwd: app, exclude: ['archive-page/**'] })) {
    const sheet = await readFile(join(app, file), 'utf8')
    // A comma within `:is(…)` separates no rules.
    const selectors = sheet.replace(/\{[^{}]*\}/g, ',').split(/[{}]|,(?![^(]*\))/)
    for (const selector of new Set(selectors.map((each) => each.trim()))) {
      if (!/^\.[\w-]+$/.test(selector)) continue
      expect([selector, owners.get(selector) ?? file]).toEqual([selector, file])
      owners.set(selector, file)
    }
  }
  expect(owners.size).toBeGreaterThan(100)
})
