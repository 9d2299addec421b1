import { join } from 'node:path'
import { makeFolder } from '../../routers/core/make-folder.ts'

/** Makes the data folder, or the one of that name in it; throws an error that names the setting. */
export async function makeDataFolder(dataDir: string, name = ''): Promise<string> {
  const path = join(dataDir, name)
  await makeFolder(path).catch((cause: Error) => {
    throw new Error(`DATA_DIR: the folder ${path} cannot be made (${cause.message}). Set it to another one.`, { cause })
  })
  return path
}
