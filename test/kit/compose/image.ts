import { execFile } from 'node:child_process'
import { chown, cp, mkdir, mkdtemp, readFile, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../../', import.meta.url))

/** Owners of folders are Docker's, and the cache of npm is this machine's. */
const SKIPPED_STEPS = /^(install --directory|npm cache clean)/

/** Slow build steps, replaced by a link to the checkout's packages. */
const INSTALL_STEPS = /^(npm ci|rm -rf node_modules|node facades\/web\/app-build)/

/** The ordinary user of the image: nobody here, where root builds it. */
const ORDINARY = 65_534

interface ImageOptions {
  /** True installs the packages as the image does, which takes a minute. */
  isInstalled?: boolean
}

/** Does the steps of `server/Dockerfile` in a fresh folder, which stands for `/svc`: the image without its system. */
export async function buildImage({ isInstalled = true }: ImageOptions = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'svc-image-'))
  const dispose = () => run('chmod', ['-R', 'u+w', folder]).then(() => rm(folder, { recursive: true, force: true }))
  try {
    const text = (await readFile(join(root, 'server/Dockerfile'), 'utf8')).replace(/\\\n/g, ' ')
    for (const [, step, rest = ''] of text.matchAll(/^(COPY|RUN) (.*)$/gm)) {
      // The files of an earlier stage are in the same folder.
      if (rest.startsWith('--from=')) continue
      await (step === 'COPY' ? copyFiles(rest, folder) : runSteps(rest, folder, isInstalled))
    }
    if (isInstalled) await mkdir(join(folder, 'node_modules/.cache'), { recursive: true })
    else await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
    // The root file system is read-only, and the service runs as somebody who does not own it.
    await run('chmod', ['-R', isInstalled ? 'a-w,go+rX' : 'go+rX', folder])
    const [, path = ''] = /^ENV .*\bPATH=(\S+)/m.exec(text) ?? []
    return {
      folder,
      /** The image's PATH. */
      path: path.replace('/svc', folder).replace('$PATH', `${dirname(process.execPath)}:${process.env['PATH']}`),
      ...selectUser(isInstalled),
      [Symbol.asyncDispose]: dispose,
    }
  } catch (error) {
    await dispose()
    throw error
  }
}

export type Image = Awaited<ReturnType<typeof buildImage>>

async function copyFiles(names: string, folder: string): Promise<void> {
  for (const name of names.split(' ').slice(0, -1)) await cp(join(root, name), join(folder, name), { recursive: true })
}

async function runSteps(steps: string, folder: string, isInstalled: boolean): Promise<void> {
  const commands = steps.split('&&').map((command) => command.trim())
  for (const command of commands.filter((it) => !SKIPPED_STEPS.test(it) && (isInstalled || !INSTALL_STEPS.test(it))))
    await run('sh', ['-c', command], { cwd: folder, env: { ...process.env, NODE_ENV: 'production' } })
}

/** Chooses the user of the image: another one than root if this is root and nothing is linked that others cannot read. */
function selectUser(isInstalled: boolean) {
  if (process.getuid?.() !== 0 || !isInstalled) return { as: [], give: async () => {} }
  const as = ['setpriv', `--reuid=${ORDINARY}`, `--regid=${ORDINARY}`, '--clear-groups']
  return { as, give: (folder: string) => chown(folder, ORDINARY, ORDINARY) }
}
