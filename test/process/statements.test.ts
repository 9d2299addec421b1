// @module-tag debian

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import ts from 'typescript-5'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Statement } from '../../entities/sql/statement.ts'
import { cloneDatabase } from '../kit/database.ts'

const root = join(import.meta.dirname, '../..')
const files = globSync('entities/**/*.ts', { cwd: root })
  .filter((file) => !file.includes('migrations/'))
  .map((file) => join(root, file))

let database: Awaited<ReturnType<typeof cloneDatabase>>
let client: pg.Client
beforeAll(async () => {
  database = await cloneDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database[Symbol.asyncDispose]()
})

const isStatement = (value: unknown): value is Statement<unknown> =>
  typeof value === 'object' && value !== null && 'name' in value && 'text' in value && !('shape' in value)

/** All statements that a module of the entities exports, by the name of the constant. */
async function exportedStatements() {
  const found: { constant: string; file: string; statement: Statement<unknown> }[] = []
  for (const file of files) {
    const module: Record<string, unknown> = await import(file)
    for (const [constant, value] of Object.entries(module))
      if (isStatement(value)) found.push({ constant, file, statement: value })
  }
  return found
}

interface DeclaredRow {
  members: Set<string>
  /** Columns that only some statements of the type select. */
  optional: Set<string>
}

/** The declared row type of each constant; none for a statement without result. */
function declaredRows(): Map<string, DeclaredRow> {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const program = ts.createProgram(files, ts.parseJsonConfigFileContent(config, ts.sys, root).options)
  const checker = program.getTypeChecker()
  const rows = new Map<string, DeclaredRow>()
  for (const file of files) {
    const module = checker.getSymbolAtLocation(program.getSourceFile(file) as ts.SourceFile)
    for (const symbol of module ? checker.getExportsOfModule(module) : []) {
      const row = rowOf(checker, checker.getTypeOfSymbol(symbol))
      if (row) rows.set(`${file}#${symbol.name}`, describeRow(row))
    }
  }
  return rows
}

function describeRow(row: ts.Type): DeclaredRow {
  const members = row.getProperties()
  const optional = members.filter(({ flags }) => flags & ts.SymbolFlags.Optional)
  return { members: new Set(members.map(({ name }) => name)), optional: new Set(optional.map(({ name }) => name)) }
}

/** Returns undefined for a value that is no statement, and for a statement without a row type. */
function rowOf(checker: ts.TypeChecker, type: ts.Type): ts.Type | undefined {
  const row = type.getProperty('text') && type.getProperty('row')
  const selected = row && checker.getNonNullableType(checker.getTypeOfSymbol(row))
  return selected && selected.flags & ts.TypeFlags.Never ? undefined : selected
}

test('each statement is valid in the migrated schema and returns its declared columns', async () => {
  const declared = declaredRows()
  const wrong: string[] = []
  for (const { constant, file, statement } of await exportedStatements()) {
    const at = `${file.slice(root.length + 1)} ${constant}`
    const columns = await columnsOf(statement.text).catch((error: Error) => error.message)
    const expected = declared.get(`${file}#${constant}`)
    if (typeof columns === 'string') wrong.push(`${at}: ${columns}`)
    else if (expected && !fits(columns, expected))
      wrong.push(`${at}: selects ${[...columns].join()}, and is declared to select ${[...expected.members].join()}`)
  }
  expect(wrong).toEqual([])
})

test('no two statements have one name', async () => {
  const names = (await exportedStatements()).flatMap(({ statement: { name } }) => name || [])
  expect(names.filter((name, at) => names.indexOf(name) !== at)).toEqual([])
})

const fits = (columns: ReadonlySet<string>, { members, optional }: DeclaredRow) =>
  [...columns].every((name) => members.has(name)) &&
  [...members].every((name) => columns.has(name) || optional.has(name))

/** Lets the server describe a statement without running it. */
function columnsOf(text: string): Promise<Set<string>> {
  return new Promise((resolve, reject) => client.query(new Description(text, resolve, reject)))
}

/** Parse and Describe messages in place of the query. */
class Description {
  readonly name = ''
  readonly #text: string
  readonly #columns = new Set<string>()
  readonly #resolve: (columns: Set<string>) => void
  readonly #reject: (error: Error) => void

  constructor(text: string, resolve: (columns: Set<string>) => void, reject: (error: Error) => void) {
    this.#text = text
    this.#resolve = resolve
    this.#reject = reject
  }

  submit(connection: pg.Connection): void {
    connection.parse({ name: '', text: this.#text, types: [] }, true)
    connection.describe({ type: 'S', name: '' }, true)
    connection.sync()
  }

  handleRowDescription({ fields }: { fields: { name: string }[] }): void {
    for (const { name } of fields) this.#columns.add(name)
  }

  handleError(error: Error): void {
    this.#reject(error)
  }

  handleReadyForQuery(): void {
    this.#resolve(this.#columns)
  }
}

test('a statement names tables of other areas by their entities', () => {
  const sources = globSync('{entities,routers}/*/**/*.ts', { cwd: root, exclude: ['**/migrations/**'] })
  const texts = sources.map((file) => ({
    file,
    area: file.split('/')[1],
    text: readFileSync(join(root, file), 'utf8'),
  }))
  const tables = texts.flatMap(({ area, text }) =>
    [...text.matchAll(/tableName: '(\w+)'/g)].map(([, name]) => ({ area, name })),
  )
  const found = tables.flatMap(({ area, name }) => {
    const named = new RegExp(
      String.raw`\b(from|join|update|into|references) ${name}\b|\.(look|list|exists)\(\s*'${name}'`,
    )
    return texts
      .filter((source) => source.area !== area && named.test(source.text))
      .map(({ file }) => `${file}: ${name}`)
  })
  expect(tables.length).toBeGreaterThan(40)
  expect(found).toEqual([])
})
