import { existsSync } from 'node:fs'
import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and its parents, if they are missing, also while others make them. The recursive `mkdir` of Node never
 * returns where an existing parent takes no folders and says that it is not there, such as `/proc`.
 */
export async function makeFolder(path: string, mode?: number): Promise<void> {
  if (!(await makeWithinParent(path, mode))) return
  if (!existsSync(dirname(path))) await makeFolder(dirname(path), mode)
  const refusal = await makeWithinParent(path, mode)
  if (refusal) throw refusal
}

/** Makes a folder; returns the error if its parent is missing, or says so. */
async function makeWithinParent(path: string, mode: number | undefined): Promise<Error | undefined> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return error as Error
    if (code !== 'EEXIST' || !(await stat(path)).isDirectory()) throw error
  }
  return undefined
}
