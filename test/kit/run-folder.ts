import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, statfs } from 'node:fs/promises'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const sweeper = join(import.meta.dirname, 'sweeper.ts')

/** A folder of one run of tests or of the bench, which is gone with all that runs in it once the run has ended. */
export interface RunFolder extends AsyncDisposable {
  /** Path of the folder, in memory if there is enough of it. */
  path: string
}

/**
 * Makes the folder, and another that is the temporary folder of this process and its children until then.
 * A process of its own deletes both and ends what still runs in them: also after Ctrl-C, and after this process was killed.
 */
export async function openRunFolder(prefix: string): Promise<RunFolder> {
  const path = await mkdtemp(join(await quickFolder(), prefix))
  const temporary = await mkdtemp(join(tmpdir(), prefix))
  // Parts of another user have folders in it.
  await Promise.all([path, temporary].map((folder) => chmod(folder, 0o711)))
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = temporary
  const child = spawn(process.execPath, ['--no-warnings', sweeper, path, temporary], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'inherit'],
  })
  await once(child, 'spawn')
  // Neither keeps this process from ending.
  child.unref()
  ;(child.stdin as Socket).unref()
  return {
    path,
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit')
      child.ref()
      child.stdin.end()
      await ended
      if (before === undefined) delete process.env['TMPDIR']
      else process.env['TMPDIR'] = before
    },
  }
}

/** Returns a fast folder, as databases have a thousand files and nearly every test file has one. */
async function quickFolder(): Promise<string> {
  const memory = '/dev/shm'
  const { bavail, bsize } = await statfs(memory).catch(() => ({ bavail: 0, bsize: 0 }))
  return bavail * bsize > 2 ** 31 ? memory : tmpdir()
}
