import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startApp, type TestApp } from '../kit/app.ts'
import { strict } from '../kit/client/packed.ts'

const run = promisify(execFile)
const inModules = (path: string) => fileURLToPath(new URL(`../../node_modules/${path}`, import.meta.url))

/** The generator still asks for the programming interface of TypeScript 5. */
const typescript5 = `import { registerHooks } from 'node:module'
registerHooks({ resolve: (name, context, next) =>
  name === 'typescript' ? next('typescript-5', { ...context, parentURL: ${JSON.stringify(import.meta.url)} }) : next(name, context) })`

const compilerOptions = {
  ...strict,
  lib: ['es2024', 'dom', 'dom.iterable'],
  rewriteRelativeImportExtensions: true,
  outDir: 'out',
}

let svc: TestApp
let token: string
let folder: string
beforeAll(async () => {
  svc = await startApp()
  token = (await svc.user()).token
  folder = await mkdtemp(join(tmpdir(), 'svc-generated-'))
  const document = await svc.send('GET', '/api/svc/v1/openapi.json')
  await writeFile(join(folder, 'openapi.json'), await document.text())
  await writeFile(join(folder, 'package.json'), '{"type":"module"}')
  await writeFile(join(folder, 'typescript-5.mjs'), typescript5)
})
afterAll(async () => {
  await svc[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

/** Compiles a program and runs it; what it prints is JSON. */
async function outcomeOf(name: string, source: string): Promise<unknown> {
  await writeFile(join(folder, `${name}.ts`), source)
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [`${name}.ts`] }))
  const complaints = await run(inModules('.bin/tsc'), ['-p', folder]).then(
    () => '',
    ({ stdout }: { stdout: string }) => stdout,
  )
  expect(complaints).toBe('')
  const { stdout } = await run(process.execPath, [join(folder, `out/${name}.js`), svc.url, token])
  return JSON.parse(stdout)
}

const head = `declare const process: { argv: string[] }
const [, , url = '', token = ''] = process.argv
const headers = { authorization: \`Bearer \${token}\` }
`

describe('from the OpenAPI document', () => {
  test('openapi-typescript makes types that compile and describe what is answered', async () => {
    const arguments_ = [inModules('openapi-typescript/bin/cli.js'), 'openapi.json', '-o', 'types.ts']
    await run(process.execPath, ['--import', './typescript-5.mjs', ...arguments_], { cwd: folder })

    const program = `import type { paths } from './types.ts'
${head}
type Asking = paths['/api/ai-req']['post']
type Models = paths['/api/svc/v1/ai-models']['get']['responses'][200]['content']['application/vnd.api+json']
const body: Asking['requestBody']['content']['application/json'] = {
  payload: { model: 'demo', messages: [{ role: 'user', content: { text: 'Hello' } }] },
}
const models = (await (await fetch(url + '/api/svc/v1/ai-models', { headers })).json()) as Models
const label: string | undefined = models.data[0]?.attributes.label
const result = await fetch(url + '/api/ai-req', {
  method: 'POST',
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const answer = (await result.json()) as Asking['responses'][200]['content']['application/json']
console.log(JSON.stringify({ status: result.status, text: answer.content.text, label }))
`

    expect(await outcomeOf('types-program', program)).toMatchObject({
      status: 200,
      text: expect.stringContaining('Hello'),
      label: expect.any(String),
    })
  })

  test('orval makes a client that compiles, and whose calls work', async () => {
    const output = { target: './client.ts', client: 'fetch', mode: 'single', baseUrl: svc.url }
    const config = `export default ${JSON.stringify({ svc: { input: './openapi.json', output } })}`
    await writeFile(join(folder, 'orval.config.mjs'), config)
    await run(process.execPath, [inModules('orval/dist/bin/orval.mjs'), '--config', 'orval.config.mjs'], {
      cwd: folder,
    })

    const program = `import { aiModelsList, apiAiReq, health } from './client.ts'
${head}
const result = await apiAiReq(
  { payload: { model: 'demo', messages: [{ role: 'user', content: { text: 'Hello' } }] } },
  { headers },
)
const text = result.status === 200 && typeof result.data === 'object' ? result.data.content.text : ''
const listed = await aiModelsList({ sort: ['-label'], 'page[size]': 1 }, { headers })
const models = listed.status === 200 ? listed.data.data.length : 0
const report = await health()
console.log(JSON.stringify({ status: result.status, text, models, health: report.status === 200 ? report.data.status : '', url: url.length > 0 }))
`

    expect(await outcomeOf('orval-program', program)).toEqual({
      status: 200,
      text: expect.stringContaining('Hello'),
      models: 1,
      health: 'healthy',
      url: true,
    })
  })
})
