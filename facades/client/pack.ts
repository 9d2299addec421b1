import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const manifest = fileURLToPath(new URL('../../package.json', import.meta.url))
const dist = fileURLToPath(new URL('dist', import.meta.url))
const whole = join(dist, 'package.json')

/** `npm pack` runs this with `before` and `after`: the package holds the client alone, and asks for what the client needs. */
const steps = {
  before() {
    steps.after()
    build()
    cpSync(manifest, whole)
    writeFileSync(manifest, `${JSON.stringify(slim(JSON.parse(readFileSync(whole, 'utf8'))), null, 2)}\n`)
  },
  after() {
    if (existsSync(whole)) renameSync(whole, manifest)
    rmSync(dist, { recursive: true, force: true })
  },
}

/** The compiler follows the types through the whole service; of what it writes, the client is two files. */
function build(): void {
  const folder = mkdtempSync(join(tmpdir(), 'svc-client-'))
  try {
    const project = fileURLToPath(new URL('.', import.meta.url))
    const { stdout } = spawnSync('tsc', ['-p', project, '--outDir', folder], { encoding: 'utf8' })
    const built = ['index.js', 'index.d.ts'].map((name) => join(folder, 'facades/client', name))
    // Declarations that could not be written for other files are no concern of the client.
    if (!built.every((file) => existsSync(file))) throw new Error(stdout)
    mkdirSync(dist)
    for (const file of built) cpSync(file, join(dist, basename(file)))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Manifest {
  dependencies: Record<string, string>
  [name: string]: unknown
}

function slim({ name, version, description, license, type, exports, files, dependencies }: Manifest) {
  const wanted = Object.entries(dependencies).filter(([dependency]) => dependency.startsWith('@trpc/'))
  return { name, version, description, license, type, exports, files, dependencies: Object.fromEntries(wanted) }
}

steps[process.argv[2] as keyof typeof steps]()
