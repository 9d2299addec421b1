import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Owners of folders are Docker's, and the cache of npm is this machine's. */
const notHere = /^(install --directory|npm cache clean)/

/** Does the steps of `server/Dockerfile` in a fresh folder: the image without its system. */
export async function buildImage() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-image-'))
  const text = (await readFile(join(root, 'server/Dockerfile'), 'utf8')).replace(/\\\n/g, ' ')
  for (const [, step, rest = ''] of text.matchAll(/^(COPY|RUN) (.*)$/gm)) {
    // What an earlier stage has made lies in the same folder.
    if (rest.startsWith('--from=')) continue
    if (step === 'COPY') {
      const names = rest.split(' ').slice(0, -1)
      for (const name of names) await cp(join(root, name), join(folder, name), { recursive: true })
      continue
    }
    const commands = rest.split('&&').map((command) => command.trim())
    for (const command of commands.filter((it) => !notHere.test(it)))
      await run('sh', ['-c', command], { cwd: folder, env: { ...process.env, NODE_ENV: 'production' } })
  }
  await mkdir(join(folder, 'node_modules/.cache'), { recursive: true })
  return { folder, [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }) }
}
