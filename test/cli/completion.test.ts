import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { svcConsole } from '../../cli/programs.ts'
import { runCommand } from '../kit/command-line.ts'
import { isMissing } from '../kit/parts/installed.ts'

const execute = promisify(execFile)

/** Returns the completions that a shell offers for a typed command line. */
type Complete = (script: string, typed: string) => Promise<string[]>

const runShell = async (shell: string, program: string) =>
  (await execute(shell, [shell === 'zsh' ? '-fc' : '-c', program])).stdout.split('\n').filter(Boolean)

const inBash: Complete = async (script, typed) => {
  const name = /^(\w+)\(\)/m.exec(script)?.[1]
  return runShell(
    'bash',
    `${script}\nCOMP_LINE='${typed}' COMP_POINT=${typed.length}\n${name}\nprintf '%s\\n' "\${COMPREPLY[@]}"`,
  )
}

/** zsh filters the added completions by the word at the cursor. */
const inZsh: Complete = async (script, typed) => {
  const words = typed.split(' ')
  const name = /^(\w+)\(\)/m.exec(script)?.[1]
  const shell = `compdef() { : }\ncompadd() { shift; print -l -- "$@" }\n${script}\nwords=(${words.map((word) => `'${word}'`).join(' ')}) CURRENT=${words.length}\n${name}`
  return (await runShell('zsh', shell)).filter((word) => word.startsWith(words.at(-1) ?? ''))
}

const scriptFor = async (shell: string, program?: typeof svcConsole) => {
  const { exitCode, stdout } = await runCommand(['completion', shell], { env: {}, ...(program && { program }) })
  expect(exitCode).toBe(0)
  return stdout
}

describe.for([
  ['bash', inBash],
  ['zsh', inZsh],
] as const)('completion in %s', ([shell, complete]) => {
  const it = test.skipIf(shell === 'zsh' && isMissing('zsh'))

  it(`${shell} completes commands, those below them, and their flags`, async () => {
    const script = await scriptFor(shell)

    expect(await complete(script, 'svc mod')).toEqual(['models'])
    expect(await complete(script, 'svc models ')).toEqual(expect.arrayContaining(['list', 'sync', '--help']))
    expect(await complete(script, 'svc limits set --ca')).toEqual(['--cap'])
    expect(await complete(script, 'svc token --name laptop --ex')).toEqual(['--expires'])
    expect(await complete(script, 'svc nothing-like-it --cap')).toEqual([])
  })
})

test('bash completes a name with a colon by what stands behind the colon', async () => {
  const script = await scriptFor('bash', svcConsole)

  expect(await inBash(script, 'svc-console app:to')).toEqual(['token'])
  expect(await inBash(script, 'svc-console app:token --rev')).toEqual(['--revoke'])
})

test('an unknown shell is refused with 2', async () => {
  expect(await runCommand(['completion', 'fish'], { env: {} })).toMatchObject({ exitCode: 2, stdout: '' })
})
