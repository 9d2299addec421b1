import { globSync } from 'node:fs'
import { mkdtemp, readdir, readFile, rm, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
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

/** Sheets whose classes have the same name everywhere: typography, what Markdown becomes, and the frame that the service writes. */
const globalSheets = ['app.css', 'shared/markdown/markdown.css', 'sign-in/frame.css']

/** Classes that are the value of a property: the directions and alignments of a text. */
const classesOfValues = ['right', 'rtl', 'left', 'ltr', 'center']

const readSource = (file: string) => readFile(join(app, file), 'utf8')

/** Returns the classes in the selectors of a sheet. */
const listStyled = (sheet: string) =>
  new Set(sheet.replace(/\/\*.*?\*\//gs, '').match(/(?<=\.)[a-z][\w-]*(?=[^{};]*\{)/gi))

const readStyled = async (file: string) => listStyled(await readSource(file))

/** Returns the classes of a module that a component uses. A name of a property counts where it chooses the class. */
const listModuleClasses = (source: string, styled: ReadonlySet<string>) => [
  ...(source.match(/(?<=\bstyles\.)\w+/g) ?? []),
  ...(/\bstyles\[/.test(source) ? (source.match(/(?<=')\w+(?=')/g) ?? []).filter((word) => styled.has(word)) : []),
]

/** Returns the class names that are written out in the elements of a component. */
function listWrittenClasses(source: string): string[] {
  const attributes = [...source.matchAll(/\bclass(?:Name)?(?:="([^"]*)"|=\{((?:[^{}]|\{[^{}]*\})*)\}|: ('[^']*'))/g)]
  return attributes.flatMap(([, text, expression = '', member = '']) => {
    const written = (expression + member)
      .replace(/[!=]== '[^']*'/g, '')
      .replace(/\w+(?<!joinClasses)\([^()]*\)/g, '')
      .replace(/\$\{[^}]*\}/g, '*')
    const names = text ?? [...written.matchAll(/['`]([^'`]*)['`]/g)].map(([, name]) => name).join(' ')
    return names.split(/\s+/).filter(Boolean)
  })
}

test('each sheet but three is the module of a component', () => {
  const sheets = globSync('**/*.css', { cwd: app })

  expect(sheets.filter((file) => !file.endsWith('.module.css')).toSorted()).toEqual(globalSheets)
})

test('a class of a module is styled there and used beside it', async () => {
  const modules = globSync('**/*.module.css', { cwd: app })
  for (const file of modules) {
    const styled = await readStyled(file)
    const sources = await Promise.all(globSync(`${dirname(file)}/*.{ts,tsx}`, { cwd: app }).map(readSource))
    const users = sources.filter((source) => source.includes(`'./${basename(file)}'`))
    expect([file, new Set(users.flatMap((source) => listModuleClasses(source, styled)))]).toEqual([file, styled])
  }
  expect(modules.length).toBeGreaterThan(50)
})

test('a class without a module has its style in one sheet and is used', async () => {
  const sheets = await Promise.all(globalSheets.map(readStyled))
  const styled = sheets.flatMap((sheet) => [...sheet])
  const used = new Map<string, string>()
  for (const file of globSync(['**/*.{ts,tsx}', '../{index,layout}.ts'], { cwd: app }))
    for (const name of listWrittenClasses(await readSource(file))) used.set(name, file)
  /** The end of a name that is put together stands as an asterisk. */
  const isSame = (name: string, other: string) =>
    name.endsWith('*') && name !== '*' ? other.startsWith(name.slice(0, -1)) : name === other

  expect(styled.filter((name, index) => styled.indexOf(name) !== index)).toEqual([])
  expect(styled.filter((name) => ![...used.keys()].some((each) => isSame(each, name)))).toEqual(classesOfValues)
  expect([...used].filter(([name]) => name !== '*' && !styled.some((each) => isSame(name, each)))).toEqual([])
})
