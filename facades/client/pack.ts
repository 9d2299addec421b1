import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { errorCodes } from '../../routers/core/problems.ts'
import { accessOf, metaOf } from '../../routers/core/trpc.ts'
import { summarize } from '../../routers/resource/exposure.ts'
import { describeAccess, findProcedure } from '../http/procedures.ts'

/** Describes a procedure; returns undefined if no token may call it, because the client has only tokens. */
function writeSentence(name: string): string | undefined {
  const procedure = findProcedure(name)
  if (!procedure) throw new Error(`There is no procedure ${name}.`)
  const { about, exposes } = metaOf(procedure)
  const access = accessOf(procedure)
  if (access.callers === 'the host' || access.sessionOnly) return undefined
  const sentence = about ?? (exposes && summarize(exposes))
  if (!sentence) throw new Error(`The procedure ${name} has no description.`)
  return `${sentence} ${describeAccess(procedure)}`
}

interface DocumentedProcedure {
  name: string
  sentence: string
}

/**
 * Completes the compiler's declarations: inlines names of the service, documents each procedure, and drops those that a
 * token cannot call. Procedures are recognized by their indentation.
 */
function finishDeclarations(declarations: string): { text: string; procedures: DocumentedProcedure[] } {
  const procedures: DocumentedProcedure[] = []
  const inlined = declarations
    .replace(/^import type .* from '\.\.\/.*;\n/gm, '')
    .replaceAll('ServiceErrorCode', errorCodes.map((name) => `'${name}'`).join(' | '))
  const text = inlined.replace(/^ {4}(\w+): \{\n((?: {8}.*\n)*) {4}\};\n/gm, (_, router: string, members: string) => {
    const kept = members.replace(/^ {8}(\w+): \{\n(?: {9,}.*\n)* {8}\};\n/gm, (whole, procedure: string) => {
      const name = `${router}.${procedure}`
      const sentence = writeSentence(name)
      if (sentence === undefined) return ''
      procedures.push({ name, sentence })
      return `        /** ${sentence} */\n${whole}`
    })
    return kept && `    ${router}: {\n${kept}    };\n`
  })
  return { text, procedures }
}

const dist = fileURLToPath(new URL('dist', import.meta.url))
/** The files that `npm pack` always includes, and their backups. */
const swappedFiles = ['package.json', 'README.md'].map((name) => ({
  file: fileURLToPath(new URL(`../../${name}`, import.meta.url)),
  whole: join(dist, name),
}))

/** Steps before and after `npm pack`, so that the package contains only the client and its dependencies. */
const steps = {
  before() {
    steps.after()
    const procedures = build()
    for (const { file, whole } of swappedFiles) cpSync(file, whole)
    const [manifest, readme] = swappedFiles.map(({ file }) => file) as [string, string]
    writeFileSync(manifest, `${JSON.stringify(reduceManifest(JSON.parse(readFileSync(manifest, 'utf8'))), null, 2)}\n`)
    writeFileSync(readme, writeReadme(procedures))
  },
  after() {
    for (const { file, whole } of swappedFiles) if (existsSync(whole)) renameSync(whole, file)
    rmSync(dist, { recursive: true, force: true })
  },
}

/** Builds the client. The compiler emits the whole service, of which three files and the folder `live` are kept. */
function build(): DocumentedProcedure[] {
  const folder = mkdtempSync(join(tmpdir(), 'svc-client-'))
  try {
    const project = fileURLToPath(new URL('.', import.meta.url))
    const { stdout } = spawnSync('tsc', ['-p', project, '--outDir', folder], { encoding: 'utf8' })
    const [code, declarations, values] = ['index.js', 'index.d.ts', 'values.d.ts'].map((name) =>
      join(folder, 'facades/client', name),
    )
    // Errors in the declarations of other files do not matter.
    if (!code || !declarations || !values || !existsSync(code) || !existsSync(declarations)) throw new Error(stdout)
    const { text, procedures } = finishDeclarations(readFileSync(declarations, 'utf8'))
    mkdirSync(dist)
    cpSync(code, join(dist, 'index.js'))
    cpSync(values, join(dist, 'values.d.ts'))
    for (const part of ['client/live', ...['', '.js', '.d.ts'].map((ending) => `web/browser/crypto${ending}`)])
      cpSync(join(folder, 'facades', part), join(dist, basename(part)), { recursive: true })
    writeFileSync(join(dist, 'index.d.ts'), text)
    return procedures
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function writeReadme(procedures: readonly DocumentedProcedure[]): string {
  const rows = procedures.map(({ name, sentence }) => `| \`${name}\` | ${sentence} |`)
  const table = ['| Procedure | What it does |', '| --- | --- |', ...rows].join('\n')
  return readFileSync(new URL('README.md', import.meta.url), 'utf8').replace('<!-- procedures -->', table)
}

interface Manifest {
  dependencies: Record<string, string>
  exports: Record<string, unknown>
  [name: string]: unknown
}

function reduceManifest({ name, version, description, license, type, exports, files, dependencies }: Manifest) {
  const wanted = Object.entries(dependencies).filter(([dependency]) => dependency.startsWith('@trpc/'))
  return {
    name,
    version,
    description,
    license,
    type,
    files,
    exports: Object.fromEntries(['./client', './live', './crypto'].map((entry) => [entry, exports[entry]])),
    dependencies: Object.fromEntries(wanted),
  }
}

steps[process.argv[2] as keyof typeof steps]()
