import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Extension } from '../routers/extension.ts'

/** Loads the modules that EXTENSIONS names, in order; each exports `extension`. */
export async function loadExtensions(paths: readonly string[]): Promise<Extension[]> {
  return Promise.all(
    paths.map(async (path) => {
      const { extension } = (await import(pathToFileURL(resolve(path)).href)) as { extension?: Extension }
      if (!extension?.name) throw new Error(`${path} exports no extension with a name.`)
      return extension
    }),
  )
}
