import { readdir, readFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join, sep } from 'node:path'

const folder = join(import.meta.dirname, 'browser')

/** Loads the browser modules as JavaScript by URL path. Types are blanked out, so lines and columns stay. */
export async function loadBrowserModules(): Promise<Map<string, string>> {
  const files = (await readdir(folder, { recursive: true })).filter((file) => file.endsWith('.ts')).sort()
  return new Map(await Promise.all(files.map(async (file) => [toUrl(file), await load(file)] as const)))
}

const toUrl = (file: string) => `/assets/${file.split(sep).join('/').replace(/\.ts$/, '.js')}`

async function load(file: string): Promise<string> {
  const code = stripTypeScriptTypes(await readFile(join(folder, file), 'utf8'))
  return code.replace(/\b(from|import)(\s*\(?\s*)'(\.[^']*)\.ts'/g, "$1$2'$3.js'")
}
