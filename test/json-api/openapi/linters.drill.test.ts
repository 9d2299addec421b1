import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApp } from '../../kit/app.ts'
import { withAssistants } from '../../kit/json-api/assistants.ts'

/** The versions of the linters; as dev dependencies they would be part of every installation. */
const packages = ['@redocly/cli@2.77.0', '@stoplight/spectral-cli@6.16.3']

let folder: string

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'svc-linters-'))
  const npm = ['install', '--no-audit', '--no-fund', '--no-save', '--ignore-scripts', '--prefix', folder, ...packages]
  await promisify(execFile)('npm', npm, { cwd: folder })
  await using svc = await startApp(withAssistants)
  const document = await svc.send('GET', '/api/svc/v1/openapi.json')
  await writeFile(join(folder, 'openapi.json'), await document.text())
  await writeFile(join(folder, '.spectral.yaml'), 'extends: ["spectral:oas"]\n')
}, 300_000)
afterAll(() => rm(folder, { recursive: true, force: true }))

/** Runs a program and returns its output, even if it fails. */
async function run(program: string, args: readonly string[]): Promise<string> {
  const options = { cwd: folder, env: { PATH: process.env['PATH'], HOME: folder, REDOCLY_TELEMETRY: 'off' } }
  const ran = promisify(execFile)(join(folder, 'node_modules/.bin', program), [...args, 'openapi.json'], options)
  return (await ran.catch((error: { stdout: string }) => error)).stdout
}

test('the OpenAPI document passes the recommended rules of redocly', async () => {
  const { problems } = JSON.parse(await run('redocly', ['lint', '--extends', 'recommended', '--format', 'json']))

  expect(problems).toEqual([])
})

test('the OpenAPI document passes the rules of spectral', async () => {
  expect(JSON.parse(await run('spectral', ['lint', '--quiet', '--format', 'json']))).toEqual([])
})
