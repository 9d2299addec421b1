import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import {
  access,
  chmod,
  constants,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, gzip } from 'node:zlib'
import type { InlineConfig, Plugin, Rolldown } from 'vite'
import { createAdminInputsPlugin, writeAdminInputs } from './admin-inputs.ts'

/** Base address of the app's files. */
export const APP_BASE = '/assets/app/'

/** The sources with which the pages begin: those of the front end, those before and after it, and that behind a link. */
export const entries = { app: 'main.tsx', signIn: 'sign-in/main.tsx', share: 'share-page/main.tsx' } as const
export type EntryName = keyof typeof entries

const root = join(import.meta.dirname, '../..')
/** Folder of builds, unless it is read-only. */
const cache = join(root, 'node_modules/.cache/svc/app')

/** Sources of the bundle; imported types outside of them leave no trace in it. */
const sources = [
  'facades/web/app',
  'facades/web/browser',
  'facades/web/tokens.css',
  'facades/client',
  'facades/web/app-build.ts',
  'facades/web/admin-inputs.ts',
  'package-lock.json',
]

/** Milliseconds that earlier builds are kept: open pages may still request their files after a restart. */
const KEEP_MS = 24 * 60 * 60 * 1000

/** Lists the folders with builds: beside the packages, and a fallback if those are read-only. */
export const listBuildFolders = (fallback?: string): string[] => (fallback === undefined ? [cache] : [cache, fallback])

/** Returns the folder of the current build; builds it if the sources have changed. */
export async function buildIfChanged(folders = listBuildFolders()): Promise<string> {
  const name = await hashSources()
  for (const folder of folders) if (await exists(join(folder, name, MANIFEST))) return join(folder, name)
  const built = join(await findWritable(folders), name)
  // A separate process keeps the memory of the builder out of the service.
  const builder = spawn(process.execPath, [fileURLToPath(import.meta.url), built], {
    // Pages always get a production build.
    env: { NODE_ENV: 'production' },
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let errorOutput = ''
  builder.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorOutput = (errorOutput + text).slice(-4000)
  })
  const [code, signal] = await once(builder, 'close')
  if (code !== 0) throw new Error(`The front end could not be built: ${signal ? `${signal} ended it` : errorOutput}`)
  return built
}

async function findWritable(folders: readonly string[]): Promise<string> {
  for (const folder of folders)
    try {
      await mkdir(folder, { recursive: true })
      await access(folder, constants.W_OK)
      return folder
    } catch {
      // The next folder may be writable.
    }
  throw new Error(`The front end cannot be built: none of ${folders.join(', ')} can be written.`)
}

/** Lists earlier builds that are still kept. */
export async function listEarlierBuilds(folders: readonly string[]): Promise<string[]> {
  const names = await Promise.all(folders.map((folder) => readdir(folder).catch(ignoreMissing)))
  return folders.flatMap((folder, at) => (names[at] ?? []).map((name) => join(folder, name)))
}

/**
 * The errors of a missing file. Requests choose the names, a folder of builds may contain files, and another user may have
 * made an earlier build.
 */
const missingCodes: readonly (string | undefined)[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'EACCES', 'EPERM']

/** Ignores the error of a missing file or folder; throws any other. */
export function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (missingCodes.includes(error.code)) return undefined
  throw error
}

export const MANIFEST = '.vite/manifest.json'

async function hashSources(): Promise<string> {
  const hash = createHash('sha256').update(process.version).update(writeAdminInputs())
  for (const file of (await Promise.all(sources.map(listFiles))).flat())
    hash.update(file).update(await readFile(join(root, file)))
  return hash.digest('hex').slice(0, 20)
}

async function listFiles(path: string): Promise<string[]> {
  if (!(await stat(join(root, path))).isDirectory()) return [path]
  const entries = await readdir(join(root, path), { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => join(parentPath, name))
  return files.map((file) => file.slice(root.length + 1)).sort()
}

const exists = (path: string) =>
  stat(path).then(
    () => true,
    () => false,
  )

/** Builds into a temporary folder and renames it, so that concurrent builds never see a partial one. */
async function build(target: string): Promise<void> {
  await mkdir(dirname(target), { recursive: true })
  const draft = await mkdtemp(join(dirname(target), 'draft-'))
  try {
    await bundle(draft)
    await bundleArchivePage(draft)
    await compressAll(draft)
    // A service of another user reads the build as well.
    await chmod(draft, 0o755)
    await rename(draft, target).catch(async (error) => {
      if (!(await exists(join(target, MANIFEST)))) throw error
    })
    await dropOldBuilds(target)
  } finally {
    await rm(draft, { recursive: true, force: true })
  }
}

/** The configuration that the build and the development server share. */
export async function createAppConfig(): Promise<InlineConfig> {
  const { default: react } = await import('@vitejs/plugin-react')
  return {
    configFile: false,
    root: join(root, 'facades/web/app'),
    base: APP_BASE,
    plugins: [react(), createAdminInputsPlugin()],
  }
}

/** Bundles the sources; further plugins see them first. */
export async function bundle(outDir: string, more: Plugin[] = []): Promise<void> {
  const [{ build }, config] = await Promise.all([import('vite'), createAppConfig()])
  await build({
    ...config,
    logLevel: 'error',
    plugins: [...more, ...(config.plugins ?? [])],
    build: {
      outDir,
      emptyOutDir: false,
      assetsDir: '',
      // A policy without `data:` fonts, and without inline scripts.
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      manifest: true,
      target: 'es2022',
      reportCompressedSize: false,
      rolldownOptions: {
        input: [toSource('app'), toSource('signIn'), toSource('share')],
        output: { codeSplitting: { groups: chunkGroups } },
      },
    },
  })
}

/** The page that opens a personal data archive, in one file without network access. */
export const ARCHIVE_PAGE = 'archive-page.html'

async function bundleArchivePage(outDir: string): Promise<void> {
  const [{ build }, config] = await Promise.all([import('vite'), createAppConfig()])
  const built = await build({
    ...config,
    logLevel: 'error',
    build: {
      write: false,
      cssCodeSplit: false,
      modulePreload: false,
      target: 'es2022',
      reportCompressedSize: false,
      rolldownOptions: {
        input: join(root, 'facades/web/app/archive-page/main.tsx'),
        output: { format: 'iife', codeSplitting: false },
      },
    },
  })
  const { output } = built as { output: ({ type: 'chunk'; code: string } | { type: 'asset'; source: string })[] }
  const script = output.flatMap((file) => (file.type === 'chunk' ? file.code : [])).join('')
  const style = output.flatMap((file) => (file.type === 'asset' ? String(file.source) : [])).join('')
  await writeFile(join(outDir, ARCHIVE_PAGE), writeArchivePage(script.replaceAll('</script', '<\\/script'), style))
}

/** Writes the archive page; its policy allows only its own script and style. */
function writeArchivePage(script: string, style: string): string {
  const hashSource = (text: string) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`
  const policy = `default-src 'none'; script-src ${hashSource(script)}; style-src ${hashSource(style)}; base-uri 'none'; form-action 'none'`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Archive</title>
<style>${style}</style>
<div id="app"></div>
<script>${script}</script>
</html>
`
}

interface ModuleInfo {
  isEntry: boolean
  importers: readonly string[]
}

/** Returns the entries that cannot begin without a module; none for an entry itself, which no other file may run. */
function findEntries(id: string, context: { getModuleInfo: (id: string) => ModuleInfo | null }): ReadonlySet<string> {
  const seen = new Set([id])
  const found = new Set<string>()
  for (const each of seen) {
    const { isEntry = false, importers = [] } = context.getModuleInfo(each) ?? {}
    if (isEntry && each === id) return found
    if (isEntry) found.add(each)
    for (const importer of importers) seen.add(importer)
  }
  return found
}

const toSource = (name: EntryName) => join(root, 'facades/web/app', entries[name])

/** The sources of the pages outside the front end, which only these load. */
const outsideFolders = [toSource('signIn'), toSource('share')].map((source) => dirname(source))

/** The front end begins with a file of its own, and with what the pages outside of it have loaded and the browser has cached. */
const chunkGroups: Rolldown.CodeSplittingGroup[] = [
  {
    name(id, context) {
      if (outsideFolders.some((folder) => id.startsWith(folder))) return null
      const found = findEntries(id, context)
      const isInBoth = found.has(toSource('share')) && found.has(toSource('app'))
      return isInBoth || found.has(toSource('signIn')) ? 'shared' : null
    },
    priority: 1,
  },
  { name: (id, context) => (findEntries(id, context).has(toSource('app')) ? 'first' : null) },
]

const compress = { br: promisify(brotliCompress), gz: promisify(gzip) }

async function compressAll(outDir: string): Promise<void> {
  const files = (await readdir(outDir)).filter((name) => /\.(js|css|svg)$/.test(name))
  for (const file of files) {
    const body = await readFile(join(outDir, file))
    await writeFile(join(outDir, `${file}.br`), await compress.br(body))
    await writeFile(join(outDir, `${file}.gz`), await compress.gz(body))
  }
}

async function dropOldBuilds(newest: string): Promise<void> {
  for (const path of await listEarlierBuilds([dirname(newest)])) {
    const isOld = path !== newest && Date.now() - (await stat(path)).mtimeMs > KEEP_MS
    if (isOld) await rm(path, { recursive: true, force: true })
  }
}

const [, script, target] = process.argv
// Without an argument it builds like the service, for example for an image.
if (script === fileURLToPath(import.meta.url)) await (target === undefined ? buildIfChanged() : build(target))
