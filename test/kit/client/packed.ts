import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cp, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { lock } from 'proper-lockfile'
import { inject } from 'vitest'

const run = promisify(execFile)
export const root = fileURLToPath(new URL('../../..', import.meta.url))
const tsc = join(root, 'node_modules/.bin/tsc')

/** The options of a program that uses the client, as strict as they come. */
export const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  module: 'nodenext',
  target: 'es2024',
  types: [] as string[],
}

/**
 * The first-party client as `npm pack` makes it, installed in the folder of a program: once a run, because that takes half a
 * minute. All test files write their programs into the one folder, so their names must differ.
 */
export async function packClient() {
  const folder = join(inject('runFolder'), 'client')
  const [copy, consumer] = [join(folder, 'service'), join(folder, 'consumer')]
  await mkdir(folder, { recursive: true })
  const release = await lock(folder, { stale: 60_000, retries: { retries: 600, minTimeout: 500, maxTimeout: 500 } })
  const done = join(folder, 'done')
  try {
    if (!existsSync(done)) await packInto(folder, copy, consumer)
    await writeFile(done, '')
  } finally {
    await release()
  }
  return {
    /** A copy of the service, in which the client was packed. */
    copy,
    /** The folder in which the client is installed. */
    consumer,
    /** Returns the compiler's messages about one or several files of the program. */
    async compile(name: string, options: object = { outDir: 'out' }, files = [`${name}.ts`]): Promise<string> {
      const project = join(consumer, `${name}.json`)
      await writeFile(project, JSON.stringify({ compilerOptions: { ...strict, ...options }, files }))
      return run(tsc, ['-p', project], { cwd: consumer }).then(
        () => '',
        ({ stdout }: { stdout: string }) => stdout,
      )
    },
    /** Runs a file of the program and returns the JSON that it prints. */
    async run(file: string, ...args: string[]): Promise<unknown> {
      const { stdout } = await run(process.execPath, ['--no-warnings', join(consumer, file), ...args])
      return JSON.parse(stdout)
    },
  }
}

async function packInto(folder: string, copy: string, consumer: string): Promise<void> {
  // Packing changes its folder for a moment, so it runs in a copy.
  for (const name of ['package.json', 'tsconfig.json', 'README.md', 'LICENSE', 'entities', 'routers', 'facades'])
    await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: copy })
  await mkdir(consumer)
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ name: 'program', private: true, type: 'module' }))
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']
  await run('npm', [...install, join(folder, stdout.trim())], { cwd: consumer })
}

export type PackedClient = Awaited<ReturnType<typeof packClient>>
