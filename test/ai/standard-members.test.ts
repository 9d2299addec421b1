import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import ts from 'typescript-5'
import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { answers } from '../kit/ai/provider.ts'
import { startWithProvider } from '../kit/ai/provider-service.ts'
import { type StandardApi, standardApis } from '../kit/ai/standard-members.ts'
import { shareResource } from '../kit/share-resource.ts'

let operations: Record<string, { post?: { description: string } }>

const app = shareResource(() => startWithProvider(answers('Good day.')))
beforeAll(async () => {
  const document = await app.svc.send('GET', '/api/svc/v1/openapi.json')
  operations = ((await document.json()) as { paths: typeof operations }).paths
})
beforeEach(() => app.answerBy(answers('Good day.')))

interface Row {
  handling: string
  note: string
}

/** Reads the table of members from the service's documentation. */
function tableOf({ path }: StandardApi): Map<string, Row> {
  const lines = operations[path]?.post?.description.matchAll(/^\| `(.+?)` \| (.+?) \| (.*) \|$/gm) ?? []
  return new Map([...lines].map(([, name = '', handling = '', note = '']) => [name, { handling, note }]))
}

/** Reads the members of an interface from the types of an SDK. */
async function declaredMembers(module: string, name: string): Promise<string[]> {
  const file = fileURLToPath(import.meta.resolve(module)).replace(/\.m?js$/, '.d.ts')
  const source = ts.createSourceFile(file, await readFile(file, 'utf8'), ts.ScriptTarget.Latest)
  const found = source.statements.filter(ts.isInterfaceDeclaration).find((one) => one.name.text === name)
  return (found?.members ?? []).flatMap((member) =>
    member.name && (ts.isIdentifier(member.name) || ts.isStringLiteral(member.name)) ? member.name.text : [],
  )
}

/** Expects that refused members are named without a call, and that ignored ones do not reach the provider. */
async function expectHandling(api: StandardApi, name: string, handling: string): Promise<void> {
  await app.answerBy(answers('Good day.'))
  const body = { ...api.body, [name]: api.examples[name] }
  const response = await app.svc.send('POST', api.path, { token: app.token, body })
  const text = await response.text()
  const isRefused = handling === 'refused'
  expect([name, response.status], text).toEqual([name, isRefused ? 400 : 200])
  expect(text.includes(name) || !isRefused, name).toBe(true)
  expect(app.upstream.requests, name).toHaveLength(isRefused ? 0 : 1)
  if (handling === 'ignored') expect(app.upstream.requests[0]?.sent, name).not.toContain('CANARY')
}

describe.each(standardApis)('$path', (api) => {
  test('every standard member is in the table, with a reason where it stops', async () => {
    const table = tableOf(api)
    for (const [module, name] of api.types) {
      const members = await declaredMembers(module, name)
      expect(members.length).toBeGreaterThan(10)
      expect([...table.keys()]).toEqual(expect.arrayContaining(members))
    }
    for (const [name, { handling, note }] of table)
      expect([name, handling, handling === 'passed on' || note !== '']).toEqual([name, expect.any(String), true])
  })

  test('each member is handled as the table says', async () => {
    const members = [...tableOf(api)].filter(([name]) => !/[.[]/.test(name))
    expect(Object.keys(api.examples).toSorted()).toEqual(members.map(([name]) => name).toSorted())
    for (const [name, { handling }] of members) await expectHandling(api, name, handling)
  })

  test('null is as good as nothing for every member that may be left out', async () => {
    const optional = Object.keys(api.examples).filter((name) => !(name in api.body))
    const body = { ...api.body, ...Object.fromEntries(optional.map((name) => [name, null])) }
    const response = await app.svc.send('POST', api.path, { token: app.token, body })

    expect(response.status, await response.text()).toBe(200)
    expect(response.headers.get('x-ignored-parameters')).toBeNull()
  })
})
