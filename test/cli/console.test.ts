import { expect, test } from 'vitest'
import { findCommand } from '../../cli/command-tree.ts'
import { aliases, listConsoleCommands, replacedCommands } from '../../cli/console-commands.ts'
import { createRoot, svc, svcConsole } from '../../cli/programs.ts'
import { openHost, runCommand } from '../kit/command-line.ts'

/** All command names of older versions that operators may use in scripts. */
const older = `app:token app:removeuser hawki:update-avatar svc:update-avatar app:fetch-user-records usage:top-users
  usage:summarize-monthly app:list-gwdg announcement:make announcement:publish check:storage filestorage:cleanup
  filestorage:converter:types:list migrate:avatars ai:check-status check:model-status ai:models:check-status
  ai:tools:check-status ai:models:list ai:config:sync ai:models:sync ai:tools:sync ai:tools:list ai:tools:configure
  ai:tools:assign ai:tools:mcp:add ai:tools:mcp:list ai:tools:mcp:configure ai:tools:mcp:remove ext-app:create ext-app:list
  ext-app:remove make:frontend-migration dev:helper:repository dev:ai:update-lite-llm-static-data migrate queue:work
  queue:restart schedule:work reverb:start storage:link key:generate config:cache route:cache view:cache cache:clear down up
  backup:run backup:list backup:clean backup:monitor`.split(/\s+/)

const nowhere = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/none' }
const console = (...argv: string[]) => runCommand(argv, { env: nowhere, program: svcConsole })

test('svc-console knows every older name, and no other', async () => {
  expect(Object.keys(listConsoleCommands({} as never)).sort()).toEqual([...older].sort())
})

test.each(Object.keys(aliases))('%s is a command, which explains itself', async (name) => {
  expect(await console(name, '--help')).toMatchObject({
    exitCode: 0,
    stderr: '',
    stdout: expect.stringContaining(`USAGE svc-console ${name}`),
  })
})

test.each(Object.entries(replacedCommands))(
  '%s says what does its work now, whatever it is given',
  async (name, sentence) => {
    expect(await console(name, 'word', '--flag=1')).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: `${name} is replaced. ${sentence}\n`,
    })
    for (const [, line = ''] of sentence.matchAll(/`svc ([^`]+)`/g)) {
      const { command } = await findCommand(createRoot(svc, {} as never), ['svc'], line.split(' '))
      expect(command.run, line).toBeTypeOf('function')
    }
  },
)

test('an older name does what its command does, with its former flags', async () => {
  await using machine = await openHost()
  const json = async (...argv: string[]) => {
    const { exitCode, stdout, stderr } = await machine.run([...argv, '--json'], { program: svcConsole })
    expect([exitCode, stderr]).toEqual([0, ''])
    return JSON.parse(stdout)
  }

  expect(await json('migrate')).toEqual({ applied: [] })
  expect(await json('ai:config:sync', '--force')).toMatchObject({ providers: 1 })
  const all = await json('ai:models:list')
  expect(await json('ai:models:list', '--active', '--provider', 'demo')).toEqual(all)
  expect([all.length, await json('ai:models:list', '--provider', 'nobody')]).toEqual([1, []])
  expect(await json('ai:tools:sync', '--mcp-only')).toEqual([])
  expect(await json('ai:tools:list')).toEqual([])
  expect(await json('ext-app:list')).toEqual([])

  const { view } = await json('announcement:make', 'Rules')
  const show = (...flags: string[]) =>
    machine.run(['announcement:publish', 'Rules', view, '--type=policy', '--json', ...flags], { program: svcConsole })
  expect(await show('--force=false')).toMatchObject({ exitCode: 2 })
  expect(await show('--global=0')).toMatchObject({ exitCode: 2 })
  const contradicting = await show('--global', '--users', 'ada')
  expect([contradicting.exitCode, JSON.parse(contradicting.stdout)]).toMatchObject([
    2,
    { error: { message: 'Give only one of --global, for everybody, and --users, for some.' } },
  ])
  const { id } = JSON.parse((await show('--force=1', '--global=true')).stdout)
  const shown = await machine.run(['announcement', 'list', '--json'])
  expect(JSON.parse(shown.stdout)).toMatchObject([{ id, isForced: true, isGlobal: true, type: 'policy' }])
})
