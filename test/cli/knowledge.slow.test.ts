import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { startWithEmbedder } from '../kit/ai/embedder.ts'
import { refuses } from '../kit/ai/provider.ts'
import type { TestApp } from '../kit/app.ts'
import { addAssistantWithKnowledge } from '../kit/assistants/answers.ts'
import { type CommandResult, openHost, runCommand, type TypedInput, terminalKeys } from '../kit/command-line.ts'
import { PNG } from '../kit/rooms/attachments.ts'
import { shareResource } from '../kit/share-resource.ts'

const APP_KEY = 'the key of the installation that commands have, too'

const world = shareResource(() => startWithEmbedder({ APP_KEY }))

/** An assistant with knowledge of these files, a folder, and commands on the host of the service. */
async function openSource(svc: TestApp, files: Record<string, string> = {}, env: Record<string, string> = {}) {
  const { owner, handbook, handle } = await addAssistantWithKnowledge(svc, files)
  const folder = join(svc.folder, handle)
  await mkdir(folder)
  onTestFinished(() => rm(folder, { recursive: true }))
  const settings = {
    ...world.env,
    APP_KEY,
    DATABASE_URL: svc.env.DATABASE_URL ?? '',
    DATA_DIR: svc.folder,
    DATABASE_POOL: '2',
    ...env,
  }
  const run = (argv: string[], typing?: readonly TypedInput[]): Promise<CommandResult> =>
    runCommand(['knowledge', ...argv], { env: settings, ...(typing && { typing }) })
  return {
    owner,
    handbook,
    handle,
    folder,
    run,
    async write(path: string, content: string | Uint8Array) {
      await mkdir(dirname(join(folder, path)), { recursive: true })
      await writeFile(join(folder, path), content)
    },
    sync: (...flags: string[]) => run(['sync', folder, '--assistant', handle, ...flags]),
    async syncJson(...flags: string[]) {
      return JSON.parse((await run(['sync', folder, '--assistant', handle, '--json', ...flags])).stdout)
    },
    listPaths: async () => (await handbook.files()).map(({ path }: { path: string }) => path),
  }
}

test('a folder is mirrored: only what changed is uploaded, and what is gone removed', async () => {
  const { svc, listPassageRequests } = world
  const source = await openSource(svc)
  await source.write('fees.md', 'Pottery costs 40 euros.')
  await source.write('rules/hours.md', 'The library closes at ten.')
  await source.write('old.md', 'A text of last year.')
  expect(await source.syncJson('--yes')).toMatchObject({
    knowledge: { name: 'Handbook', owner: source.owner.username },
    added: ['fees.md', 'old.md', 'rules/hours.md'],
    changed: [],
    removed: [],
    done: { uploaded: 3, removed: 0, refused: [] },
  })
  await source.handbook.untilEmbedded()
  const requests = listPassageRequests().length
  const ids = async () =>
    new Map((await source.handbook.files()).map((file: { path: string; id: number }) => [file.path, file.id]))
  const before = await ids()

  await source.write('fees.md', 'Pottery costs 50 euros.')
  await rm(join(source.folder, 'old.md'))
  const plan = { added: [], changed: ['fees.md'], removed: ['old.md'], unchanged: 1 }
  expect(await source.syncJson('--dry-run')).toMatchObject({
    ...plan,
    done: null,
    price: { tokens: expect.any(Number) },
  })
  expect(await ids()).toEqual(before)
  expect(await source.syncJson('--yes', '--keep')).toMatchObject({
    ...plan,
    removed: [],
    done: { uploaded: 1, removed: 0 },
  })
  await source.handbook.untilEmbedded()
  expect(await source.syncJson('--yes')).toMatchObject({ unchanged: 2, done: { uploaded: 0, removed: 1 } })
  expect(await source.syncJson('--yes')).toMatchObject({ unchanged: 2, removed: [], done: null })
  expect(await source.listPaths()).toEqual(['fees.md', 'rules/hours.md'])
  expect((await ids()).get('rules/hours.md')).toBe(before.get('rules/hours.md'))
  expect(listPassageRequests().length).toBe(requests + 1)
  expect((await source.handbook.search('What does pottery cost?'))[0]?.text).toContain('50 euros')
})

test('a person sees files and price before they agree, and scripts need --yes', async () => {
  const source = await openSource(world.svc, { 'old.md': 'A text of last year.' })
  await source.write('fees.md', 'Pottery costs 40 euros. '.repeat(100))
  const line = ['sync', source.folder, '--assistant', source.handle]

  expect(await source.run(line)).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('--yes is missing.') })
  const declined = await source.run(line, [['Upload and remove these files?', terminalKeys.enter]])
  expect(declined).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('Nothing was changed.') })
  expect(declined.stderr).toMatch(/estimated price +[\d.]+ EUR/)
  expect(declined.stderr).toMatch(/New:\s+│? *fees\.md/)
  expect(declined.stderr).toMatch(/Gone, to be removed:\s+│? *old\.md/)
  expect(await source.listPaths()).toEqual(['old.md'])
  const agreed = await source.run(line, [['Upload and remove these files?', 'y']])
  expect(agreed).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/uploaded +1\nremoved +1/) })
  expect(await source.listPaths()).toEqual(['fees.md'])
})

test('what the service does not read is left out by name, and never removed', async () => {
  const source = await openSource(world.svc, { 'picture.png': 'A text of this name.', 'wrong.pdf': 'A text.' })
  await source.write('fees.md', 'Pottery costs 40 euros.')
  await source.write('.git/config', 'hidden')
  await source.write('picture.png', PNG)
  await source.write('wrong.pdf', '%PDF-1.4 nothing')
  await source.write('empty.md', '')
  await source.write('back\\slash.md', 'A text.')
  await source.write('closed.md', 'A text.')
  await chmod(join(source.folder, 'closed.md'), 0)
  await symlink('/etc/passwd', join(source.folder, 'link.md'))
  const skipped = [
    { path: '.git', reason: 'It is hidden.' },
    { path: 'back\\slash.md', reason: 'Its name cannot be kept.' },
    ...(process.getuid?.() === 0 ? [] : [{ path: 'closed.md', reason: 'It cannot be opened: EACCES.' }]),
    { path: 'empty.md', reason: 'It must not be empty.' },
    { path: 'link.md', reason: 'It is a symbolic link.' },
    { path: 'picture.png', reason: 'A file of this kind has no text.' },
  ]

  const plan = await source.syncJson('--yes')
  expect(plan).toMatchObject({ changed: ['wrong.pdf'], removed: [], skipped, done: { refused: [] } })
  await source.handbook.untilRead()
  expect(await source.syncJson('--yes')).toMatchObject({
    done: null,
    skipped: [...skipped, { path: 'wrong.pdf', reason: 'The file is damaged, or is no file of this kind.' }],
  })
  expect((await source.sync('--dry-run')).stdout).toContain('link.md: It is a symbolic link.')
  expect(await source.listPaths()).toContain('picture.png')
})

test('a folder that is empty, too full, or of no assistant changes nothing', async () => {
  const source = await openSource(world.svc, { 'fees.md': 'Pottery costs 40 euros.' })
  const sync = (...flags: string[]) => source.run(['sync', source.folder, ...flags])

  expect(await source.sync('--yes')).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('so nothing is removed'),
  })
  expect(await sync('--assistant', 'nobody', '--yes')).toMatchObject({
    exitCode: 1,
    stderr: 'There is no such assistant.\n',
  })
  expect((await source.run(['sync', join(source.folder, 'gone'), '--assistant', source.handle, '--yes'])).stderr).toBe(
    `${join(source.folder, 'gone')} does not exist.\n`,
  )
  expect((await sync('--assistant', 'No Handle', '--dry-run')).stderr).toMatch(/^--assistant must be lower-case/)
  await source.owner.create(`bare-${source.handle}`)
  expect((await sync('--assistant', `bare-${source.handle}`, '--yes')).stderr).toContain('has no knowledge.')
  const full = await openSource(world.svc, {}, { KNOWLEDGE_QUOTA_FILES: '1', KNOWLEDGE_QUOTA: '10' })
  await full.write('a.md', 'A text of more than ten bytes.')
  expect(await full.syncJson('--yes')).toMatchObject({
    done: { uploaded: 0, refused: [{ path: 'a.md', reason: expect.stringContaining('at most 10 bytes') }] },
  })
  await full.write('b.md', 'text')
  expect((await full.sync('--yes')).stderr).toContain('more than 1 files')
  // The assistant is looked for before the folder is read.
  expect((await full.run(['sync', full.folder, '--assistant', 'nobody', '--yes'])).stderr).toBe(
    'There is no such assistant.\n',
  )
  expect(await source.listPaths()).toEqual(['fees.md'])
})

test('known answers are counted by place, and too few end a check with 1', async () => {
  const { svc, upstream } = world
  const source = await openSource(svc, {
    'cars.md': 'Every car is praised by its owner.',
    'rules/hours.md': 'The library closes at ten.\n\nNobody waits there for a physician.',
  })
  await source.handbook.untilEmbedded()
  const check = (...flags: string[]) =>
    source.run(['check', join(source.folder, 'questions.jsonl'), '--assistant', source.handle, ...flags])
  const writeLines = (...lines: object[]) =>
    source.write('questions.jsonl', `${lines.map((line) => JSON.stringify(line)).join('\n')}\n\n`)

  await writeLines(
    { question: 'When does the library close?', file: 'rules/hours.md', text: 'CLOSES  at' },
    { question: 'Who praises an automobile?', file: 'cars.md' },
    { question: 'Who waits for a medic?', file: 'cars.md' },
    { question: 'Where is the library?', file: 'gone.md', page: 2 },
  )
  const checked = await check('--json', '--floor', '0.75')
  expect([checked.exitCode, JSON.parse(checked.stdout)]).toEqual([
    0,
    {
      knowledge: 'Handbook',
      questions: 4,
      hit1: 0.5,
      hit5: 0.75,
      ndcg10: expect.closeTo((2 + 1 / Math.log2(3)) / 4),
      meanPlace: expect.closeTo(4 / 3),
      byWordsAlone: 0,
      misses: [{ question: 'Where is the library?', file: 'gone.md', place: null, first: 'rules/hours.md' }],
    },
  ])
  const [bill] = await svc.rows<{ calls: number }>(
    'select count(*)::int as calls from usage_records where user_id = $1',
    [source.owner.id],
  )
  expect(bill?.calls).toBeGreaterThanOrEqual(4)
  const { behave } = upstream
  upstream.behave = refuses(500)
  const failed = await check('--floor', '0.8')
  upstream.behave = behave
  expect([failed.exitCode, failed.stdout]).toEqual([
    1,
    expect.stringMatching(/hit@5 +0\.\d+[\s\S]*searched by words alone +4/),
  ])
  expect(failed.stdout).toMatch(/Not among the first 5:[\s\S]*gone\.md/)
  expect((await check('--floor', '2')).exitCode).toBe(2)
  await writeLines({ question: 'Where is the library?', file: 'a.md', section: 2 })
  expect((await check()).stderr).toContain('questions.jsonl, line 1: Unrecognized key')
  await source.write('questions.jsonl', '{"question": "Where')
  expect(await check()).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('line 1 is no JSON.') })
  await source.write('questions.jsonl', '\n')
  expect((await check()).stderr).toContain('has no question.')
})

test('commands tell the index of knowledge, and rebuild none without an embedding model', async () => {
  await using machine = await openHost()
  const run = (name: string, ...flags: string[]) => machine.run(['knowledge', name, ...flags])

  expect((await run('index')).stdout).toMatch(/wanted +none, so knowledge is searched by words alone\nsearched +none/)
  expect(await run('rebuild', '--yes')).toMatchObject({
    exitCode: 1,
    stderr: 'Set KNOWLEDGE_EMBEDDING_MODEL first.\n',
  })
})
