import { beforeAll, expect, inject, test } from 'vitest'
import { report } from '../../conformance/report.ts'
import { type Result, runSuite } from '../../conformance/suite.ts'
import { startApp, type TestApp } from '../../kit/app.ts'
import { withAssistants } from '../../kit/json-api/assistants.ts'
import { shareResource } from '../../kit/share-resource.ts'

const svc = shareResource(() => startApp({ ALLOW_EXTERNAL_COMMUNICATION: 'true', ...withAssistants }))
beforeAll(async () => {
  await addTools(svc)
})

/** Options that the standard allows and this service does not offer. */
const notOffered = [
  'paging.relationship-data',
  'paging.relationship-each-once',
  'creating.own-id-taken',
  'creating.local-id-in-linkage',
  'relationships.as-sent-with-204',
  'relationships.set-to-one',
  'relationships.clear-to-one',
  'relationships.related-link-stable',
  'extensions.ext-echoed',
  'extensions.ext-not-unasked',
  'extensions.profile-echoed',
  'extensions.unknown-beside-known',
  'extensions.base-rules-hold',
  'extensions.profile-changes-nothing',
  'extensions.ext-list',
  'extensions.profile-list',
  'extensions.profile-beside-unknown',
  'extensions.unknown-beside-known-sent',
  'extensions.lists',
  'extensions.lists-agree',
  'document.link-objects',
  'document.link-languages',
  'document.link-relations',
  'errors.links',
]

/** Adds tools with and without a server, which the API cannot create. */
const addTools = async ({ rows }: TestApp) =>
  rows(
    `with server as (insert into mcp_servers (url, server_label) values ('http://tools.example.org', 'Tools') returning id)
     insert into ai_tools (name, tool_type, server_id)
     values ('clock', 'function', null), ('dice', 'function', null), ('maps', 'mcp', (select id from server))`,
  )

const idsOf = (results: Result[], state: Result['state']) =>
  results.filter((it) => it.state === state).map(({ id }) => id)

test('the service meets the obligations of JSON:API 1.1, as an administrator reads and writes', async () => {
  const { token } = await svc.user({ role: 'admin', abilities: ['read', 'write', 'user'] })

  const results = await runSuite({ url: `${svc.url}/api/svc/v1`, token, write: true })

  expect(idsOf(results, 'failed'), report(results)).toEqual([])
  expect(idsOf(results, 'named exception')).toEqual(
    expect.arrayContaining(['names.edges', 'query-parameters.language']),
  )
  expect(idsOf(results, 'not applicable')).toEqual(notOffered)
})

test('the service meets them with assistants, which a person writes', async () => {
  const { token } = await svc.user({ abilities: ['read', 'write', 'user'] })
  const types = ['assistants', 'assistant-versions', 'assistant-user-prompts', 'assistant-tags', 'users']

  const results = await runSuite({ url: `${svc.url}/api/svc/v1`, token, write: true, types })

  expect(idsOf(results, 'failed'), report(results)).toEqual([])
})

test('the service meets them as a person reads', async () => {
  const { token } = await svc.user()
  // Only the soak tests every type, as a person reads all of them in the same ways.
  const some = ['ai-models', 'ai-tools', 'users', 'configs']

  const results = await runSuite({ url: `${svc.url}/api/svc/v1`, token, ...(!inject('soak') && { types: some }) })

  expect(idsOf(results, 'failed'), report(results)).toEqual([])
})
