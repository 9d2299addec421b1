import { mkdir, readFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { installPackages } from '../kit/ai/agents.ts'

/** Programs of earlier runs stay here; Codex runs none that lie in the temporary folder. */
const cache = join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'svc-clients')

interface Wanted {
  name: string
  packages: readonly [string, ...string[]]
  scripts?: readonly string[] | undefined
}

export const folderOf = ({ name }: Pick<Wanted, 'name'>) => join(cache, name.toLowerCase().replaceAll(' ', '-'))

/** Installs the newest packages of a program, and returns its folder and the version of the first one. */
export async function installNewest({
  name,
  packages,
  scripts = [],
}: Wanted): Promise<{ folder: string; version: string }> {
  const folder = folderOf({ name })
  await mkdir(folder, { recursive: true })
  process.stderr.write(`Installs ${name}\n`)
  await installPackages(
    folder,
    packages.map((one) => `${one}@latest`),
    scripts,
  )
  const manifest = await readFile(join(folder, 'node_modules', packages[0], 'package.json'), 'utf8')
  return { folder, version: (JSON.parse(manifest) as { version: string }).version }
}
