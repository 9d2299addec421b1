import { readdir, writeFile } from 'node:fs/promises'
import { basename, extname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { makeFolder } from '../../routers/core/make-folder.ts'
import type { FrontendMigrationFile } from '../../routers/ports/frontend-migrations.ts'
import { migrationName } from '../../routers/system/register-frontend-migrations.ts'

/** Loads the modules of a folder by their names; throws if a file has an invalid name or exports no `migration`. */
export async function loadFrontendMigrations(folder: string | undefined): Promise<Map<string, FrontendMigrationFile>> {
  if (!folder) return new Map()
  const files = (await readdir(folder)).filter((file) => ['.js', '.ts', '.mjs'].includes(extname(file)))
  const modules = files.map(async (file): Promise<[string, FrontendMigrationFile]> => {
    const name = basename(file, extname(file))
    const { migration } = (await import(pathToFileURL(resolve(folder, file)).href)) as {
      migration?: FrontendMigrationFile
    }
    if (!migrationName.test(name) || !migration) throw new Error(`${join(folder, file)} is no frontend migration.`)
    return [name, migration]
  })
  return new Map(await Promise.all(modules))
}

const template = `/** What the browser of each person needs to know, if anything. Sealed at rest until it was applied. */
export const migration = {
  userdata: (_user) => undefined,
}
`

/** Writes the file of a new migration; returns its path. */
export async function makeFrontendMigration(folder: string, name: string, now = new Date()): Promise<string> {
  const [date = '', time = ''] = now.toISOString().split(/[T.]/)
  const file = join(folder, `${date.replaceAll('-', '_')}_${time.replaceAll(':', '')}_${name}.js`)
  await makeFolder(folder)
  await writeFile(file, template, { flag: 'wx' })
  return file
}
