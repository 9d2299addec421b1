import { randomUUID } from 'node:crypto'
import { mkdir, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runCommand } from '../command-line.ts'
import { startJsonApi } from '../json-api/client.ts'
import { listStoredFiles, upload } from '../rooms/attachments.ts'

export const [KEY = '', NEWER = '', UNKNOWN = ''] = ['first', 'second', 'third'].map(
  (name) => `the ${name} key of thirty-two characters or more`,
)
export const MAX_FILES = 5

/** Starts a service and runs `svc files` on its files. */
export async function startMaintenance() {
  const svc = await startJsonApi({ APP_KEY: KEY, RETENTION_FILES_MONTHS: '6', ATTACHMENT_QUOTA_FILES: `${MAX_FILES}` })
  const pathOf = (name: string) => join(svc.folder, 'files/sealed', name.slice(0, 2), name)
  return {
    svc,
    pathOf,

    /** Deletes the attachments, pictures and files of other tests. */
    async clear() {
      await svc.rows('delete from attachments')
      for (const table of ['users', 'rooms'])
        await svc.rows(`update ${table} set avatar = null where avatar is not null`)
      await rm(join(svc.folder, 'files/avatars'), { recursive: true, force: true })
      await svc.services.files.attachments.remove(await listStoredFiles(svc))
    },

    /** Runs `svc files` beside the service. */
    async command(words: string[], settings: Record<string, string> = {}) {
      const { DATABASE_URL = '', DATA_DIR } = svc.env
      const env = { DATABASE_URL, DATA_DIR, APP_KEY: KEY, RETENTION_FILES_MONTHS: '6', ...settings }
      const { exitCode, stdout, stderr } = await runCommand(['files', ...words, '--json'], { env })
      return { exitCode, stderr, record: JSON.parse(stdout) }
    },

    async uploadFor({ token }: { token: string }, bytes = 'some words') {
      const { one } = await upload(svc, token, bytes)
      return { id: one.id, name: String(one.attributes['uuid']) }
    },

    /** Writes a file without an attachment, with an age in milliseconds. */
    async putOrphan(age: number) {
      const name = randomUUID()
      await mkdir(join(pathOf(name), '..'), { recursive: true })
      await writeFile(pathOf(name), 'left by somebody who was killed')
      const then = new Date(Date.now() - age)
      await utimes(pathOf(name), then, then)
      return name
    },

    [Symbol.asyncDispose]: () => svc[Symbol.asyncDispose](),
  }
}
