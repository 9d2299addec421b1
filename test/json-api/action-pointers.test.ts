import { afterAll, expect, test } from 'vitest'
import { buildRoutes } from '../../facades/json-api/routes.ts'
import { startApp } from '../kit/app.ts'
import { addAccount, openBrowser } from '../kit/browser.ts'
import { wholeRouter, withAssistants } from '../kit/json-api/assistants.ts'
import { base } from '../kit/json-api/client.ts'

const svc = await startApp({ ...withAssistants, ALLOW_EXTERNAL_APPS: 'true' })
afterAll(() => svc[Symbol.asyncDispose]())
const { id, username } = await addAccount(svc, 'ada')
await svc.host.admin.setRole({ user: { id }, role: 'admin' })
const browser = openBrowser(svc.url)
await browser.login(username)

/** Returns the errors of an action, each with its code and pointer. */
async function problemsOf(path: string, body: object) {
  const answer = await browser.send('POST', base + path, { body })
  const { errors } = answer.body as { errors: { status: string; code: string; source?: { pointer: string } }[] }
  expect(answer.status).toBe(422)
  return errors.map(({ code, source }) => [code, source?.pointer])
}

const actions = buildRoutes(wholeRouter).filter(
  ({ method, answers, hasFile }) => method === 'POST' && answers === 'action' && !hasFile,
)

test.for(actions.map(({ url, resource }) => ({ url, type: resource.type })))(
  '$url points to what is wrong in a plain body and in a document',
  async ({ url, type }) => {
    const path = url.replace(':id', '1')
    const wrong = { noSuchMember: [1] }

    expect(await problemsOf(path, wrong)).toContainEqual(['invalid_document', '/noSuchMember'])
    expect(await problemsOf(path, { data: { type, attributes: wrong } })).toContainEqual([
      'invalid_attribute',
      '/data/attributes/noSuchMember',
    ])
  },
)

test("an action's error pointer names the nearest member that was sent", async () => {
  const update = (attributes: object) =>
    problemsOf('/user-keychain-values/actions/batch-update', { data: { type: 'user-keychain-values', attributes } })
  const entry = { key: 'k', value: 'aXY=|dGFn|dGV4dA==' }

  expect(await update({ set: [{ ...entry, keyType: 'none' }] })).toEqual([
    ['invalid_attribute', '/data/attributes/set/0/keyType'],
  ])
  expect(await update({ set: [entry] })).toEqual([['invalid_attribute', '/data/attributes/set/0']])
  const migration = { data: { type: 'migrations' } }
  expect(await problemsOf('/migrations/actions/apply', migration)).toEqual([['invalid_attribute', '/data']])
})
