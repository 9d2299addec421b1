import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

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

/** The first-party client as `npm pack` makes it, installed in the folder of a program. */
export async function packClient() {
  const folder = await mkdtemp(join(tmpdir(), 'svc-client-'))
  const [copy, consumer] = [join(folder, 'service'), join(folder, 'consumer')]
  // Packing changes the folder for a moment, and other tests run in the real one.
  for (const name of ['package.json', 'tsconfig.json', 'README.md', 'LICENSE', 'entities', 'routers', 'facades'])
    await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: copy })
  await mkdir(consumer)
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ name: 'program', private: true, type: 'module' }))
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts']
  await run('npm', [...install, join(folder, stdout.trim())], { cwd: consumer })

  return {
    /** A copy of the service, in which the client was packed. */
    copy,
    /** Where the client is installed. */
    consumer,
    /** What the compiler has to say of a file of the program. */
    async compile(name: string, options: object = { outDir: 'out' }): Promise<string> {
      const project = join(consumer, `${name}.json`)
      await writeFile(project, JSON.stringify({ compilerOptions: { ...strict, ...options }, files: [`${name}.ts`] }))
      return run(tsc, ['-p', project], { cwd: consumer }).then(
        () => '',
        ({ stdout }: { stdout: string }) => stdout,
      )
    },
    /** What a file of the program prints, which is JSON. */
    async run(file: string, ...given: string[]): Promise<unknown> {
      const { stdout } = await run(process.execPath, ['--no-warnings', join(consumer, file), ...given])
      return JSON.parse(stdout)
    },
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

export type PackedClient = Awaited<ReturnType<typeof packClient>>
