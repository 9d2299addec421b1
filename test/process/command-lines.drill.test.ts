import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import sharp from 'sharp'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { assistantsFile } from '../../routers/assistants/content.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { cloneDatabase } from '../kit/database.ts'
import { blockCommands, type CommandLine, isRunElsewhere } from '../kit/readme-commands.ts'
import { UNTIL_READ } from '../kit/rooms/attachments.ts'
import { root } from '../kit/service-process.ts'

const resources = new AsyncDisposableStack()
afterAll(() => resources.disposeAsync())

let svc: TestApp
/** Creates a checkout with a data folder and the files that the commands name. */
let checkout: string
let env: Record<string, string>

beforeAll(async () => {
  const database = resources.use(await cloneDatabase())
  checkout = await mkdtemp(join(tmpdir(), 'svc-checkout-'))
  resources.defer(() => rm(checkout, { recursive: true, force: true }))
  for (const name of ['package.json', 'node_modules', 'entities', 'routers', 'facades', 'server', 'cli'])
    await symlink(join(root, name), join(checkout, name))
  const settings = { DATABASE_URL: database.url, DATA_DIR: join(checkout, '.data'), ALLOW_EXTERNAL_APPS: 'true' }
  await mkdir(settings.DATA_DIR)
  await writeFile(
    join(checkout, 'prices.yaml'),
    'currency: EUR\nprices: [{model: demo, inputPerMillion: 1, outputPerMillion: 2}]\n',
  )
  await writeFile(
    join(checkout, 'assistants.yaml'),
    'assistants: [{handle: thesis-helper, name: Thesis helper, model: demo}]\n',
  )
  await writeFile(join(checkout, 'notes.pdf'), '%PDF-1.4\n%%EOF\n')
  await sharp({ create: { width: 64, height: 64, channels: 3, background: 'navy' } }).toFile(
    join(checkout, 'portrait.png'),
  )
  svc = resources.use(await startApp(settings))
  const admin = await svc.user({ username: 'demo', role: 'admin', abilities: ['ai', 'user', 'read', 'write', 'admin'] })
  await writeFile(join(checkout, 'leaked.txt'), admin.token)
  // The environment has no home and no terminal, only the PATH of this process.
  env = { PATH: process.env['PATH'] ?? '', ...settings, BASE: svc.url, TOKEN: admin.token }
})

const PASSWORD = 'correct horse battery'
/** The prompts of the commands at a terminal, and the input for each. */
const typing = [
  [/[Pp]assword; none|New password|The same again/g, `${PASSWORD}\r`],
  [/everything they own\?/g, 'y'],
] as const
const confirmed = /svc -- (add-user|set-password|remove-user) /

async function type(command: string) {
  const [program = '', ...args] = confirmed.test(command)
    ? ['script', '--quiet', '--flush', '--return', '--command', `stty cols 100 rows 30; ${command}`, '/dev/null']
    : ['sh', '-c', command]
  const child = spawn(program, args, { cwd: checkout, env, stdio: ['pipe', 'pipe', 'pipe'] })
  let printed = ''
  let typed = 0
  const answer = () => {
    const expected = typing.flatMap(([question, keys]) =>
      [...stripVTControlCharacters(printed).matchAll(question)].map(({ index }) => ({ index, keys })),
    )
    const next = expected.toSorted((a, b) => a.index - b.index).find(({ index }) => index > typed)
    if (!next) return
    typed = next.index
    child.stdin.write(next.keys)
  }
  for (const output of [child.stdout, child.stderr])
    output.on('data', (piece) => {
      printed += piece
      answer()
    })
  const [exitCode] = await once(child, 'close')
  return { exitCode, printed }
}

/** The data that the command lines expect: a person, seven tokens and an announcement with a text. */
async function prepare(command: string): Promise<void> {
  const people = await svc.rows<{ id: number }>(`select id from users where username = 'ada'`)
  if (people.length === 0 && /svc -- (?!add-user).*--username ada\b/.test(command))
    await svc.host.admin.addUser({ username: 'ada', email: `${randomUUID()}@example.org`, name: 'Ada' })
  if (command.includes('--token-id 7'))
    for (let id = 0; id < 7; ) ({ id } = await svc.host.tokens.createFor({ user: { username: 'ada' }, name: 'more' }))
  if (command.includes('Portal')) await svc.rows('update ext_apps set name = id::text')
  if (/svc -- knowledge (sync|check)/.test(command)) await addHandbook()
  if (command.includes('announcement publish')) {
    const folder = join(checkout, '.data/announcements')
    const [made = ''] = await readdir(folder)
    await rename(join(folder, made), join(folder, '20261122080000-new-rules'))
  }
}

/** Adds a folder, and knowledge of the assistant of the example. */
async function addHandbook(): Promise<void> {
  await mkdir(join(checkout, 'handbook'), { recursive: true })
  await writeFile(join(checkout, 'handbook/hours.md'), 'The library closes at ten.')
  const assistants = [{ handle: 'thesis-helper', name: 'Thesis helper', model: 'demo' }]
  await svc.host.assistants.applyFile(assistantsFile.parse({ assistants }))
  await svc.rows(
    `with k as (insert into knowledge (owner_id, name) select id, 'Handbook' from users where username = 'demo'
                on conflict (owner_id, name) do update set name = excluded.name returning id)
     update assistant_versions set knowledge_id = k.id from k`,
  )
  const line = { question: 'When does the library close?', file: 'hours.md' }
  await writeFile(join(checkout, 'questions.jsonl'), JSON.stringify(line))
  const file = { content: createReadStream(join(checkout, 'handbook/hours.md')), announced: 0 }
  await svc.hostWithFile(file).knowledge.uploadFor({ handle: 'thesis-helper', path: 'hours.md' })
  const listStates = () => svc.rows(`select state from knowledge_files where state <> 'ready'`)
  await expect.poll(listStates, UNTIL_READ).toEqual([])
}

/** Replaces the example address, token and ids by those of this service. */
const placed = (text: string) => text.replace('http://127.0.0.1:3000', svc.url).replace('svc_1_…', env['TOKEN'] ?? '')

// Requests come first, as one of the commands publishes an announcement that blocks them.
const lines = blockCommands
  .filter((line) => !isRunElsewhere(line))
  .toSorted((a, b) => Number(b.text.startsWith('curl')) - Number(a.text.startsWith('curl')))

test.each(lines)('$file: $text', async ({ text }: CommandLine) => {
  await prepare(text)
  const { exitCode, printed } = await type(placed(text))

  expect([exitCode, printed]).toEqual([0, printed])
  expect(printed).not.toMatch(/"errors":|"success":false/)
})
