import { expect, test } from 'vitest'
import { runCommand, unreachableHost } from '../kit/command-line.ts'

test("svc settings shows each setting's value, and of a secret only its presence", async () => {
  const env = { ...unreachableHost, PORT: '4000', APP_KEY: 'CANARY-KEY' }

  const { exitCode, stdout } = await runCommand(['settings', '--json'], { env })

  expect(exitCode).toBe(0)
  const row = (name: string) => JSON.parse(stdout).find((each: { name: string }) => each.name === name)
  expect(row('PORT')).toEqual({
    name: 'PORT',
    type: 'integer',
    default: '3000',
    secret: false,
    value: '4000',
    isSet: true,
    meaning: expect.stringContaining('the port'),
  })
  expect(row('HOST').value).toBe('127.0.0.1')
  expect(row('DATABASE_URL').value).toBe('********')
  expect(stdout + (await runCommand(['settings'], { env })).stdout).not.toMatch(/CANARY|nobody@/)
})

test('svc settings works when the settings do not', async () => {
  const { exitCode, stdout } = await runCommand(['settings'], { env: { PORT: 'http', NODE_ENV: 'production' } })

  expect(exitCode).toBe(0)
  expect(stdout).toMatch(
    /^PORT=http\n {4}Sets the port that the service listens on\. 0 chooses a free one\. integer\n {4}\(default 3000\)$/m,
  )
})

test('svc settings fits into 80 columns', async () => {
  const { stdout } = await runCommand(['settings'], { env: {} })

  expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([])
})
