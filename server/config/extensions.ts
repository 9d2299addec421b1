import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Extension } from '../../routers/core/extension.ts'

/** Loads the modules that EXTENSIONS names, in order; each exports `extension`. */
export async function loadExtensions(paths: readonly string[]): Promise<Extension[]> {
  return Promise.all(
    paths.map(async (path) => {
      const { extension } = await load(path)
      if (!extension?.name) throw new Error(`EXTENSIONS: ${path} exports no extension with a name.`)
      return extension
    }),
  )
}

async function load(path: string): Promise<{ extension?: Extension }> {
  try {
    return await import(pathToFileURL(resolve(path)).href)
  } catch (cause) {
    throw new Error(`EXTENSIONS: ${path} could not be loaded. ${(cause as Error).message}`, { cause })
  }
}
