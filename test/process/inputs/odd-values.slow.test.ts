import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { abilities } from '../../../entities/identity/access-token.ts'
import { buildRoutes } from '../../../facades/json-api/routes.ts'
import { createContext } from '../../../routers/core/context.ts'
import { accessOf } from '../../../routers/core/trpc.ts'
import { createCaller } from '../../../routers/index.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { signIn, type TestBrowser } from '../../kit/browser.ts'
import { addMember, replaceAt, sampleInput, walkPaths } from '../../kit/inputs/samples.ts'
import { attackable, procedures, type TestedProcedure } from '../../kit/inputs/schemas.ts'
import { wholeRouter, withAssistants } from '../../kit/json-api/assistants.ts'
import { base } from '../../kit/json-api/client.ts'

// The tests send some thousand requests on a busy machine.
vi.setConfig({ testTimeout: 300_000 })

const NUL = 'a\0b'
const HALF = 'a\ud800b'
const odd: unknown[] = [NUL, HALF, 2 ** 31, 2 ** 53, 1e20, '__proto__']
const MAX_CALLS = 50

let svc: TestApp
let browser: TestBrowser
let token: string

beforeAll(async () => {
  svc = await startApp(withAssistants)
  const signedIn = await signIn(svc, 'ada')
  browser = signedIn.browser
  await svc.host.admin.setRole({ user: { username: 'ada' }, role: 'admin' })
  await browser.login('ada')
  const attributes = { user: { username: 'ada' }, name: 'all', abilities: [...abilities] }
  token = (await svc.host.tokens.createFor(attributes)).token
})
afterAll(async () => {
  // A backup created a folder of that name.
  await rm('__proto__', { recursive: true, force: true })
  await svc[Symbol.asyncDispose]()
})

/** Builds inputs with each odd value at each place of a valid one, and with members of odd names. */
function oddInputs({ inputs }: TestedProcedure): unknown[] {
  return inputs.flatMap((schema) => {
    const sample = sampleInput(schema)
    const replaced = [...walkPaths(sample)].flatMap((path) => odd.map((value) => replaceAt(sample, path, value)))
    return [sample, ...replaced, ...[NUL, HALF, '__proto__'].map((name) => addMember(sample, name))]
  })
}

interface Outcome {
  error?: { message: string; data: { httpStatus: number; problem?: string } }
}

/** Returns the response of a procedure to each input, sent in batches. */
async function outcomesOf({ name, isQuery }: TestedProcedure, inputs: unknown[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = []
  const most = isQuery ? 10 : MAX_CALLS
  for (let start = 0; start < inputs.length; start += most) {
    const some = inputs.slice(start, start + most)
    const path = `/trpc/${some.map(() => name).join()}?batch=1`
    const text = JSON.stringify({ ...some })
    const sent = isQuery
      ? await browser.send('GET', `${path}&input=${encodeURIComponent(text)}`)
      : await browser.send('POST', path, { body: text })
    outcomes.push(...([sent.body].flat() as Outcome[]))
  }
  return outcomes
}

/** Problems that never concern the input. */
const keptOut = ['signed_out', 'csrf', 'session_only', 'admin_only', 'missing_ability', 'wrong_user_type']

const onTheHost = procedures.filter(({ access, inputs }) => access.callers === 'the host' && inputs.length > 0)

/** Every text of every table, as one row per table. */
async function brokenTexts(): Promise<string[]> {
  const tables = await svc.rows<{ name: string }>(
    `select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'`,
  )
  const found = await Promise.all(
    tables.map(async ({ name }) => svc.rows(`select 1 from "${name}" t where t::text like '%' || chr(65533) || '%'`)),
  )
  return tables.flatMap(({ name }, index) => ((found[index]?.length ?? 0) > 0 ? [name] : []))
}

describe('a NUL, lone surrogate, out-of-range number or forbidden name', () => {
  test('an odd value in an input causes no server error and is not stored', async () => {
    expect(attackable.length).toBeGreaterThan(50)
    for (const procedure of attackable) {
      const inputs = oddInputs(procedure)
      const outcomes = await outcomesOf(procedure, inputs)
      expect(outcomes, procedure.name).toHaveLength(inputs.length)
      expect(keptOut, procedure.name).not.toContain(outcomes[0]?.error?.data.problem)
      const failed = outcomes.flatMap(({ error }, index) =>
        error && error.data.httpStatus >= 500 ? [[inputs[index], error.message]] : [],
      )
      expect(failed, procedure.name).toEqual([])
    }
    expect(await brokenTexts()).toEqual([])
  })

  test('an odd value is refused with a sentence that names its place', async () => {
    const { status, body } = await browser.send('POST', '/trpc/tokens.create', { body: { name: NUL } })

    expect(status).toBe(422)
    expect(body).toMatchObject({
      error: { data: { issues: [{ path: ['name'], message: 'must not contain a NUL character' }] } },
    })
    const half = await browser.send('POST', '/req/profile/create-token', { body: `{"name":"${'\\ud800'}"}` })
    expect([half.status, half.body['errors']]).toEqual([
      422,
      { name: ['The name field must not contain half of a surrogate pair.'] },
    ])
  })

  test('an odd value causes no failure of a host procedure', async () => {
    const api = createCaller(() => createContext(svc.services, { origin: 'host', requestId: 'test' }))
    for (const procedure of onTheHost) {
      const [area = '', verb = ''] = procedure.name.split('.')
      const call = (api as unknown as Record<string, Record<string, (input: unknown) => Promise<unknown>>>)[area]?.[
        verb
      ]
      for (const input of oddInputs(procedure).slice(1)) {
        const code = await call?.(input).then(
          () => 'done',
          // An unreachable provider has its own error code.
          ({ code, problem = code }: { code: string; problem?: string }) => problem,
        )
        expect(['INTERNAL_SERVER_ERROR', 'internal'], `${procedure.name} ${JSON.stringify(input)}`).not.toContain(code)
      }
    }
    expect(await brokenTexts()).toEqual([])
  })

  test('as an id in any address of JSON:API is not found', async () => {
    const ids = ['%00', '%ED%A0%80', '2147483648', '9007199254740992', '100000000000000000000', '__proto__', '1e20']
    const routes = buildRoutes(wholeRouter).filter(
      ({ url, method, procedure }) =>
        url.includes('/:id') && method === 'GET' && !(procedure && accessOf(procedure).sessionOnly),
    )
    for (const { method, url } of routes) {
      for (const id of ids) {
        const { status } = await svc.send(method, base + url.replace(/:id\w*/, id), { token })
        expect(status, `${method} ${url} ${id}`).toBe(404)
      }
    }
  })
})
