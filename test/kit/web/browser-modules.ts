import { readdir, readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join, sep } from 'node:path'
import type { Page } from 'playwright-core'

const folder = join(import.meta.dirname, '../../../facades/web/browser')

/** Loads the modules of the cryptography as JavaScript by URL path, one by one, as tests import them into a page. */
export async function loadBrowserModules(): Promise<Map<string, string>> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts')).sort()
  return new Map(await Promise.all(files.map(async (file) => [toUrl(file), await load(file)] as const)))
}

const toUrl = (file: string) => `/assets/${file.split(sep).join('/').replace(/\.ts$/, '.js')}`

async function load(file: string): Promise<string> {
  const code = stripTypeScriptTypes(await readFile(join(folder, file), 'utf8'))
  return code.replace(/\b(from|import)(\s*\(?\s*)'(\.[^']*)\.ts'/g, "$1$2'$3.js'")
}

/** Answers a page's requests for the modules, which the service itself serves as one file with its pages. */
export async function serveBrowserModules(page: Page): Promise<void> {
  const modules = await loadBrowserModules()
  await page.route(
    ({ pathname }) => modules.has(pathname),
    (route) =>
      route.fulfill({
        contentType: 'text/javascript',
        body: modules.get(new URL(route.request().url()).pathname) ?? '',
      }),
  )
}
