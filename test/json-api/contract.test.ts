import type { AnyTRPCProcedure } from '@trpc/server'
import { describe, expect, test } from 'vitest'
import { ParameterBinder, type ParameterValues } from '../../entities/sql/scope.ts'
import { buildRoutes } from '../../facades/json-api/routes.ts'
import { accessOf } from '../../routers/core/trpc.ts'
import { appRouter, resources, selectJsonApi } from '../../routers/index.ts'
import type { Resource } from '../../routers/resource/declare.ts'
import type { QueryShape } from '../../routers/resource/query-shape.ts'
import { startApp, type TestApp } from '../kit/app.ts'
import { shareResource } from '../kit/share-resource.ts'

const types = resources.map(({ type }) => type)
/** The types of the contract, and those of assistants, which a setting adds. */
const { router: wholeRouter, resources: allResources } = selectJsonApi(true)
const tables = allResources.filter(({ entity }) => entity !== undefined)
const of = (type: string) => allResources.find((resource) => resource.type === type) as Resource

const svc = shareResource(startApp)
const whole = shareResource(() => startApp({ JSONAPI_ASSISTANTS: 'true' }))

/** The types that the specification names; it allows no other. */
const specified = [
  'ai-model-descriptions',
  'ai-model-flags',
  'ai-models',
  'ai-providers',
  'ai-tool-capabilities',
  'ai-tools',
  'attachments',
  'configs',
  'connections',
  'ext-apps',
  'mcp-servers',
  'migrations',
  'room-members',
  'room-messages',
  'rooms',
  'system-models',
  'system-prompts',
  'translation-labels',
  'user-keychain-values',
  'users',
]

describe('every type', () => {
  test('the types are exactly the 20 that the specification names', async () => {
    expect(specified).toHaveLength(20)
    expect(types.toSorted()).toEqual(specified)
    expect(svc.services.records.resources.all.map(({ type }) => type).toSorted()).toEqual(specified)
  })

  test('every type is registered once', () => {
    expect(new Set(types).size).toBe(types.length)
    const exposed = buildRoutes(appRouter).map(({ resource }) => resource)
    for (const resource of exposed) expect(resources).toContain(resource)
    expect(new Set(exposed.map(({ type }) => type))).toEqual(new Set(types))
  })

  test.for(allResources.map((resource) => [resource.type, resource] as const))(
    '%s says what it is in words that the standard allows',
    ([, { about, attributes, relations }]) => {
      expect(about).toMatch(/^[A-Z].*\.$/)
      const names = [...Object.keys(attributes), ...Object.keys(relations)]
      expect(new Set(names).size).toBe(names.length)
      for (const name of names) {
        expect(name).toMatch(/^[a-z][A-Za-z0-9]*$/)
        expect(['id', 'type', 'lid', 'links', 'meta', 'relationships', 'ifVersion']).not.toContain(name)
      }
      for (const [name, { schema }] of Object.entries(attributes))
        expect([name, schema.description]).toEqual([name, expect.stringMatching(/\S/)])
    },
  )

  test.for(allResources.map((resource) => [resource.type, resource] as const))(
    '%s leads only to what there is',
    ([, resource]) => {
      for (const { to } of Object.values(resource.relations)) expect(of(to)).toBeDefined()
      for (const path of resource.includes) {
        const steps = path.split('.')
        expect([path, steps.length <= 3, leadsSomewhere(resource, steps)]).toEqual([path, true, true])
        // A path of includes may stop at any of its steps.
        expect(['', ...resource.includes]).toContain(steps.slice(0, -1).join('.'))
      }
      for (const sort of resource.sorts) expect(['id', ...Object.keys(resource.attributes)]).toContain(sort)
    },
  )

  test('every type has filters only where the service is said to have them', () => {
    const filters = resources.flatMap(({ type, filters }) => Object.keys(filters).map((name) => `${type} ${name}`))
    expect(filters).toEqual(['ai-tools assigned', 'ai-tools status'])
  })

  test('every type is paged as decided', () => {
    for (const { page } of allResources) expect(page?.size ?? 0).toBeLessThanOrEqual(page?.max ?? 0)
    const sizes = Object.fromEntries(
      resources.flatMap(({ type, page }) => (page ? [[type, `${page.size}/${page.max}`]] : [])),
    )
    expect(sizes).toMatchObject({
      ...Object.fromEntries(
        ['ai-providers', 'ai-models', 'ai-model-descriptions', 'ai-tools'].map((type) => [type, '200/1000']),
      ),
      ...Object.fromEntries(['mcp-servers', 'system-models', 'system-prompts'].map((type) => [type, '200/1000'])),
      'room-members': '100/500',
      'room-messages': '50/200',
      rooms: '50/200',
      users: '25/100',
    })
    for (const type of ['configs', 'translation-labels', 'ai-model-flags', 'ai-tool-capabilities'])
      expect(sizes).not.toHaveProperty(type)
  })
})

function leadsSomewhere({ relations }: Resource, [first = '', ...rest]: string[]): boolean {
  const relation = relations[first]
  return relation !== undefined && (rest.length === 0 || leadsSomewhere(of(relation.to), rest))
}

const values: ParameterValues = {
  viewer: 1,
  usage: 'external',
  groups: [],
  locale: 'de_DE',
  defaultLocale: 'en_US',
  brand: 'svc',
  ids: [1, 2],
  limit: 10,
  offset: 0,
}

/** Builds every shape of a query of a type. */
function shapesOf({
  sorts,
  filters,
}: Resource): { shape: Omit<QueryShape, 'isUnrestricted'>; filters: Record<string, unknown> }[] {
  const sorted = sorts.flatMap((name) => [[name], [`-${name}`]])
  const tries = ['true', 'false', '1', 'active', 'inactive', 'online', 'offline', 'unknown']
  const filtered = Object.entries(filters).flatMap(([name, { schema, variantOf }]) =>
    tries
      .filter((value) => schema.safeParse(value).success)
      .map((value) => ({ filters: [{ name, variant: variantOf(value) }], values: { [name]: value } })),
  )
  return [
    ...[[], ...sorted].map((sort) => ({ shape: { sort, filters: [] }, filters: {} })),
    ...filtered.map(({ filters, values }) => ({ shape: { sort: [], filters }, filters: values })),
  ]
}

test('every statement of every type runs, for administrators and for others', async () => {
  let count = 0
  for (const resource of tables)
    for (const admin of [true, false])
      for (const { compiled, filters } of statementsOf(whole, resource, admin)) {
        count++
        const { statement, values: valuesOf } = compiled
        await whole.services.sql<unknown>(statement, valuesOf({ ...values, ...filters })).catch((cause: unknown) => {
          throw new Error(`${resource.type}: ${statement.text}`, { cause })
        })
      }
  expect(count).toBeGreaterThan(200)
})

test('every statement of a type with hidden rows contains its scope', async () => {
  for (const resource of tables) {
    const scope = resource.scope('t', new ParameterBinder(false))
    if (scope === 'true') continue
    for (const { compiled } of statementsOf(whole, resource, false))
      expect(withoutPlaces(compiled.statement.text)).toContain(withoutPlaces(scope))
  }
})

test('every statement gives each scope table an alias of its own', async () => {
  for (const { type } of tables) {
    const { text } = whole.services.records.resources.statementsOf(type).byIds(false).statement
    const aliases = [...text.matchAll(/\b(?:from|join) [a-z_]+ (\w+)/g)].map(([, alias]) => alias)
    expect([text, aliases.length === new Set(aliases).size]).toEqual([text, true])
  }
})

const withoutPlaces = (text: string) =>
  text.replaceAll(/\(select \$\d+::([\w[\]]+)\)::\1|\$\d+::[\w[\]]+/g, '').replaceAll(/\bt\d+\b/g, 'alias')

function statementsOf({ services }: TestApp, resource: Resource, isUnrestricted: boolean) {
  const statements = services.records.resources.statementsOf(resource.type)
  const towards = allResources.flatMap((from) =>
    Object.entries(from.relations)
      .filter(([, { many, to, derive }]) => many && !derive && to === resource.type)
      .map(([name]) => [from, name] as const),
  )
  return [
    { compiled: statements.byIds(isUnrestricted), filters: {} },
    ...shapesOf(resource).flatMap(({ shape: query, filters }) => {
      const shape = { ...query, isUnrestricted }
      return [
        statements.page(shape),
        statements.count(shape),
        ...towards.flatMap(([from, name]) => [
          statements.related(from, name, isUnrestricted),
          statements.relatedPage(from, name, shape),
          statements.countRelated(from, name, shape),
        ]),
      ].map((compiled) => ({ compiled, filters: { filters } }))
    }),
  ]
}

test('the surface has the addresses that the declared verbs make', () => {
  const lines = buildRoutes(appRouter)
    .filter(({ procedure }) => procedure)
    .map(({ method, url, procedure }) => `${method} ${url} - ${accessIn(procedure)}`)
  expect(lines.sort((a, b) => (pathOf(a) < pathOf(b) ? -1 : 1))).toMatchInlineSnapshot(`
    [
      "GET /ai-model-descriptions - users who read",
      "POST /ai-model-descriptions - administrators who write",
      "GET /ai-model-descriptions/:id - users who read",
      "PATCH /ai-model-descriptions/:id - administrators who write",
      "DELETE /ai-model-descriptions/:id - administrators who write",
      "GET /ai-model-descriptions/:id/model - users who read",
      "GET /ai-model-descriptions/:id/relationships/model - users who read",
      "GET /ai-model-flags - users who read",
      "GET /ai-model-flags/:id - users who read",
      "GET /ai-models - users who read",
      "POST /ai-models - administrators who write",
      "GET /ai-models/:id - users who read",
      "PATCH /ai-models/:id - administrators who write",
      "DELETE /ai-models/:id - administrators who write",
      "GET /ai-models/:id/descriptions - users who read",
      "GET /ai-models/:id/provider - users who read",
      "GET /ai-models/:id/relationships/descriptions - users who read",
      "GET /ai-models/:id/relationships/provider - users who read",
      "GET /ai-models/:id/relationships/tools - users who read",
      "GET /ai-models/:id/tools - users who read",
      "GET /ai-providers - users who read",
      "POST /ai-providers - administrators who write",
      "GET /ai-providers/:id - users who read",
      "PATCH /ai-providers/:id - administrators who write",
      "DELETE /ai-providers/:id - administrators who write",
      "GET /ai-providers/:id/models - users who read",
      "GET /ai-providers/:id/relationships/models - users who read",
      "GET /ai-tool-capabilities - users who read",
      "GET /ai-tool-capabilities/:id - users who read",
      "GET /ai-tools - users who read",
      "GET /ai-tools/:id - users who read",
      "PATCH /ai-tools/:id - administrators who write",
      "GET /ai-tools/:id/models - users who read",
      "GET /ai-tools/:id/relationships/models - users who read",
      "POST /ai-tools/:id/relationships/models - administrators who write",
      "PATCH /ai-tools/:id/relationships/models - administrators who write",
      "DELETE /ai-tools/:id/relationships/models - administrators who write",
      "GET /ai-tools/:id/relationships/server - users who read",
      "GET /ai-tools/:id/server - users who read",
      "GET /attachments - users who read",
      "GET /attachments/:id - users who read",
      "DELETE /attachments/:id - users who write",
      "GET /attachments/:id/actions/download - users who read",
      "GET /attachments/:id/actions/text - users who read",
      "GET /attachments/:id/message - users who read",
      "GET /attachments/:id/relationships/message - users who read",
      "GET /attachments/:id/relationships/uploader - users who read",
      "GET /attachments/:id/uploader - users who read",
      "POST /attachments/actions/upload - users who write",
      "GET /configs - anyone",
      "GET /configs/:id - anyone",
      "GET /configs/public - anyone",
      "GET /connections/:id - anyone, apps included",
      "DELETE /connections/:id - external apps",
      "GET /ext-apps - users who read",
      "POST /ext-apps - administrators who write",
      "GET /ext-apps/:id - users who read",
      "PATCH /ext-apps/:id - administrators who write",
      "DELETE /ext-apps/:id - administrators who write",
      "GET /ext-apps/:id/actions/link - users",
      "DELETE /ext-apps/:id/actions/link - users",
      "POST /ext-apps/:id/actions/rotate-credential - administrators who write",
      "POST /ext-apps/actions/establish-connection - users",
      "GET /mcp-servers - users who read",
      "POST /mcp-servers - administrators who write",
      "GET /mcp-servers/:id - users who read",
      "PATCH /mcp-servers/:id - administrators who write",
      "DELETE /mcp-servers/:id - administrators who write",
      "GET /mcp-servers/:id/relationships/tools - users who read",
      "GET /mcp-servers/:id/tools - users who read",
      "GET /migrations - users who read",
      "GET /migrations/:id - users who read",
      "POST /migrations/actions/apply - users",
      "GET /proxy/storage/:identifier - users who read",
      "GET /room-members - users who read",
      "POST /room-members - users who write",
      "GET /room-members/:id - users who read",
      "PATCH /room-members/:id - users who write",
      "DELETE /room-members/:id - users who write",
      "POST /room-members/:id/actions/accept - users who write",
      "POST /room-members/:id/actions/preview - users who read",
      "GET /room-members/:id/relationships/room - users who read",
      "GET /room-members/:id/relationships/user - users who read",
      "GET /room-members/:id/room - users who read",
      "GET /room-members/:id/user - users who read",
      "GET /room-messages - users who read",
      "POST /room-messages - users who write",
      "GET /room-messages/:id - users who read",
      "PATCH /room-messages/:id - users who write",
      "DELETE /room-messages/:id - users who write",
      "GET /room-messages/:id/attachments - users who read",
      "GET /room-messages/:id/member - users who read",
      "GET /room-messages/:id/relationships/attachments - users who read",
      "GET /room-messages/:id/relationships/member - users who read",
      "GET /room-messages/:id/relationships/replies - users who read",
      "GET /room-messages/:id/relationships/room - users who read",
      "GET /room-messages/:id/relationships/thread - users who read",
      "GET /room-messages/:id/replies - users who read",
      "GET /room-messages/:id/room - users who read",
      "GET /room-messages/:id/thread - users who read",
      "GET /rooms - users who read",
      "POST /rooms - users who write",
      "GET /rooms/:id - users who read",
      "PATCH /rooms/:id - users who write",
      "DELETE /rooms/:id - users who write",
      "POST /rooms/:id/actions/arrange - users who write",
      "POST /rooms/:id/actions/ask - users who ai",
      "POST /rooms/:id/actions/cancel-answer - users who ai",
      "GET /rooms/:id/actions/changes - users who read",
      "GET /rooms/:id/actions/disclosures - users who read",
      "GET /rooms/:id/actions/key-recipients - users who write",
      "GET /rooms/:id/actions/keys - users who read",
      "POST /rooms/:id/actions/mark-read - users who write",
      "POST /rooms/:id/actions/prove-key - users who write",
      "POST /rooms/:id/actions/rekey - users who write",
      "GET /rooms/:id/members - users who read",
      "GET /rooms/:id/messages - users who read",
      "GET /rooms/:id/relationships/members - users who read",
      "GET /rooms/:id/relationships/messages - users who read",
      "GET /system-models - users who read",
      "POST /system-models - administrators who write",
      "GET /system-models/:id - users who read",
      "PATCH /system-models/:id - administrators who write",
      "DELETE /system-models/:id - administrators who write",
      "GET /system-models/:id/model - users who read",
      "GET /system-models/:id/relationships/model - users who read",
      "GET /system-prompts - users who read",
      "POST /system-prompts - administrators who write",
      "GET /system-prompts/:id - users who read",
      "PATCH /system-prompts/:id - administrators who write",
      "DELETE /system-prompts/:id - administrators who write",
      "GET /translation-labels/:id - anyone",
      "GET /user-keychain-values - users who read",
      "GET /user-keychain-values/:id - users who read",
      "POST /user-keychain-values/actions/batch-update - users who keychain",
      "GET /user-keychain-values/actions/validator - users who read",
      "GET /users - users who read",
      "GET /users/:id - users who read",
      "PATCH /users/:id - users who write",
      "DELETE /users/:id - administrators who write",
      "POST /users/actions/search - users who read",
      "GET /users/me - users, apps included who user",
      "GET /users/me/actions/changes - users who read",
    ]
  `)
})

test('the surface has each address once', () => {
  const addresses = buildRoutes(wholeRouter).map(({ method, url }) => `${method} ${url}`)
  expect(addresses.filter((address, index) => addresses.indexOf(address) !== index)).toEqual([])
})

test('the surface is open to guests only where that is meant', () => {
  const open = buildRoutes(wholeRouter).filter(({ procedure }) => procedure && accessIn(procedure).startsWith('anyone'))
  expect(open.map(({ url }) => url)).toEqual(
    expect.arrayContaining(['/configs', '/configs/:id', '/configs/public', '/translation-labels/:id']),
  )
  for (const { resource } of open) expect(['configs', 'connections', 'translation-labels']).toContain(resource.type)
})

const pathOf = (line: string) => line.split(' ')[1] ?? ''

function accessIn(procedure: AnyTRPCProcedure | undefined): string {
  if (!procedure) return 'nobody'
  const { callers, ability } = accessOf(procedure)
  return [callers, ability].filter(Boolean).join(' who ')
}
