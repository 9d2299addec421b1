import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { adaFlags, openHost, runCommand } from '../kit/command-line.ts'

const KEY = 'a'.repeat(48)
const NEWER = 'b'.repeat(48)

const entry = (more: string, prompt = 'Answer as a librarian.') => `
  - handle: thesis-helper
    name: Thesis helper
    model: demo
    systemPrompt: |
      ${prompt}
      With sources.
    starters: [How do I cite?]
    parameters: { temperature: 0.2 }
${more}`

/** A host with the demo model, a person, and a function that applies a file of assistants. */
async function openMachine() {
  const machine = await openNewMachine()
  await machine.json('models', 'sync')
  return machine
}

/** A host without models. */
async function openNewMachine() {
  const machine = await openHost({ APP_KEY: KEY })
  await machine.json('add-user', ...adaFlags)
  const file = join(machine.folder, 'assistants.yaml')
  const write = (entries: string) => writeFile(file, `assistants:${entries}`)
  return Object.assign(machine, {
    write,
    async apply(entries: string) {
      await write(entries)
      return machine.json('assistants', 'apply', file)
    },
    async tryToApply(entries: string) {
      await write(entries)
      return machine.run(['assistants', 'apply', file])
    },
  })
}

test('a command applies a file of assistants, and changes nothing the second time', async () => {
  await using machine = await openMachine()
  const groups = '    audience: groups\n    groups: [staff]\n    owner: ada'

  expect(await machine.apply(entry(groups))).toEqual([
    { handle: 'thesis-helper', outcome: 'created', version: 1, published: 1 },
  ])
  const stored = () =>
    machine.rows('select a.*, v.* from assistants a join assistant_versions v on v.assistant_id = a.id')
  const before = await stored()
  expect(await machine.apply(entry(groups))).toEqual([
    { handle: 'thesis-helper', outcome: 'unchanged', version: 1, published: 1 },
  ])
  expect(await stored()).toEqual(before)
  expect(await machine.apply(entry(groups, 'Answer as an archivist.'))).toMatchObject([
    { outcome: 'changed', version: 2, published: 2 },
  ])
  expect(await machine.apply(entry('    audience: all', 'Answer as an archivist.'))).toMatchObject([
    { outcome: 'changed', version: 2 },
  ])
  expect(await machine.json('assistants', 'list')).toEqual([
    {
      handle: 'thesis-helper',
      name: 'Thesis helper',
      owner: null,
      audience: 'all',
      groups: [],
      published: 2,
      latest: 2,
      model: 'demo',
    },
  ])
})

test('a command publishes a version of an assistant, and an earlier one again', async () => {
  await using machine = await openMachine()
  await machine.apply(entry(''))
  expect(await machine.apply(entry('    publish: false', 'A draft.'))).toMatchObject([{ version: 2, published: 1 }])

  expect(await machine.json('assistants', 'publish', 'thesis-helper', '--version', '2')).toMatchObject({ version: 2 })
  const { stdout } = await machine.run(['assistants', 'publish', 'thesis-helper', '--version', '1'])
  expect(stdout).toBe('Version 1 of thesis-helper answers from now on.\n')
  expect(await machine.run(['assistants', 'publish', 'thesis-helper', '--version', '3'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('The assistant has no version 3.'),
  })
  expect((await machine.run(['assistants', 'publish', 'No Handle', '--version', '1'])).stderr).toMatch(
    /^HANDLE must be lower-case/,
  )
  expect(await machine.run(['assistants', 'publish', 'nobody', '--version', '1'])).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('There is no such assistant.'),
  })
})

test('commands list what waits for approval, and approve or refuse it', async () => {
  await using machine = await openMachine()
  await machine.apply(entry('    audience: groups\n    groups: [staff]'))
  await machine.apply(entry('    audience: groups\n    groups: [staff]\n    publish: false', 'A draft.'))
  const propose = (version: number) => machine.rows(`update assistants set proposed = ${version}, proposed_at = now()`)

  expect(await machine.json('assistants', 'waiting')).toEqual([])
  await propose(2)
  expect(await machine.json('assistants', 'waiting')).toMatchObject([{ handle: 'thesis-helper', version: 2 }])
  const refuse = ['assistants', 'refuse', 'thesis-helper', '--version', '2', '--reason', 'It is a draft.']
  expect((await machine.run(refuse)).stdout).toBe('Version 2 of thesis-helper was refused.\n')
  expect(await machine.run(refuse)).toMatchObject({
    exitCode: 1,
    stderr: expect.stringContaining('No version waits for approval.'),
  })
  await propose(2)
  const approve = (version: string) => machine.run(['assistants', 'approve', 'thesis-helper', '--version', version])
  expect((await approve('1')).stderr).toContain('Version 2 waits for approval now.')
  expect((await approve('2')).stdout).toBe('Version 2 of thesis-helper answers all people from now on.\n')
  expect(await machine.json('assistants', 'list')).toMatchObject([{ audience: 'all', groups: [], published: 2 }])
})

test('a file with a fault is refused whole, naming its place or assistant', async () => {
  await using machine = await openMachine()
  const second = entry('').replace('thesis-helper', 'other-helper').replace('model: demo', 'model: none')

  const unknownModel = await machine.tryToApply(entry('') + second)
  expect([unknownModel.exitCode, unknownModel.stderr]).toEqual([
    1,
    expect.stringContaining("The assistant 'other-helper': model is not a model that you may use."),
  ])
  const misspelt = await machine.tryToApply(entry('    audiance: all'))
  expect([misspelt.exitCode, misspelt.stderr]).toEqual([
    1,
    expect.stringMatching(/line \d+, assistants\.0: .*audiance/),
  ])
  const twice = await machine.tryToApply(entry('') + entry(''))
  expect(twice.stderr).toContain('assistants: must have different handles')
  const ownerless = await machine.tryToApply(entry('    owner: bob'))
  expect(ownerless.stderr).toContain("The assistant 'thesis-helper': owner is the username of nobody.")
  expect(await machine.rows('select handle from assistants')).toEqual([])
})

test('a file that is applied before models are synced is told the command', async () => {
  await using machine = await openNewMachine()

  const { exitCode, stderr } = await machine.tryToApply(entry(''))

  expect([exitCode, stderr]).toEqual([
    1,
    "The assistant 'thesis-helper': model is unknown, because there are no chat models yet: `svc models sync` reads them from the providers.\n",
  ])
  await machine.json('models', 'sync')
  expect(await machine.apply(entry(''))).toMatchObject([{ outcome: 'created' }])
})

test('svc files rotate seals the texts of assistants with the new application key', async () => {
  await using machine = await openMachine()
  await machine.apply(entry(''))
  const rotate = (env: Record<string, string>) => runWith(machine, env)
  const readTexts = async () => (await machine.rows('select texts from assistant_versions'))[0]

  const before = await readTexts()
  expect(await rotate({ APP_KEY: NEWER, APP_PREVIOUS_KEYS: KEY })).toMatchObject({ renewed: 1, unknown: 0 })
  expect(await readTexts()).not.toEqual(before)
  expect(await rotate({ APP_KEY: NEWER })).toMatchObject({ renewed: 0, unknown: 0 })
  expect(await rotate({ APP_KEY: KEY })).toMatchObject({ renewed: 0, unknown: 1 })
})

async function runWith(machine: { env: Record<string, string> }, env: Record<string, string>) {
  const { stdout } = await runCommand(['files', 'rotate', '--json'], { env: { ...machine.env, ...env } })
  return JSON.parse(stdout)
}
