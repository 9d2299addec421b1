import { writeConfig } from '../ai/provider.ts'
import { startApp, type TestApp } from '../app.ts'

export const base = '/api/svc/v1'
export const mediaType = 'application/vnd.api+json'

interface Identifier {
  type: string
  id: string
}

export interface Resource extends Identifier {
  attributes: Record<string, unknown>
  relationships?: Record<string, { data?: Identifier | Identifier[] | null; links: Record<string, string> }>
  links: Record<string, string>
}

interface Answer {
  status: number
  headers: Headers
  text: string
  /** The one resource, the list, and what came with them: whichever the answer has. */
  one: Resource
  list: Resource[]
  included: Resource[]
  total: number
  meta: Record<string, unknown>
  links: Record<string, string | null>
  errors: { status: string; code: string; title: string; detail?: string; source?: Record<string, string> }[]
}

export type Client = ReturnType<typeof createApiClient>

/** Calls the JSON:API as whoever holds the token; without one as a guest. */
export function createApiClient(svc: Pick<TestApp, 'send'>, token?: string, root = base) {
  async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await svc.send(method, `${root}${path}`, {
      token,
      headers: { ...(body !== undefined && { 'content-type': mediaType }), ...headers },
      ...(body !== undefined && { body }),
    })
    const text = await response.text()
    const document = JSON.parse(text || '{}')
    const { data, included = [], meta = {}, errors = [], links = {} } = document
    const answer = { status: response.status, headers: response.headers, text, included, meta, errors, links }
    return { ...answer, one: data, list: data, total: meta.page?.total } as Answer
  }
  return {
    send,
    get: (path: string, headers?: Record<string, string>) => send('GET', path, undefined, headers),
    post: (path: string, body: unknown) => send('POST', path, body),
    patch: (path: string, body: unknown) => send('PATCH', path, body),
    delete: (path: string, body?: unknown) => send('DELETE', path, body),
    create: (type: string, attributes: object, relationships?: object) =>
      send('POST', `/${type}`, { data: { type, attributes, ...(relationships && { relationships }) } }),
    update: (type: string, id: string | number, attributes: object, relationships?: object) =>
      send('PATCH', `/${type}/${id}`, {
        data: { type, id: String(id), attributes, ...(relationships && { relationships }) },
      }),
  }
}

/** A relation to one or to many, as a body has it. */
export const toOne = (type: string, id: string | number) => ({ data: { type, id: String(id) } })
export const toMany = (type: string, ids: readonly (string | number)[]) => ({
  data: ids.map((id) => ({ type, id: String(id) })),
})

export const idsOf = (resources: readonly Identifier[]) => resources.map(({ id }) => id)
export const pointersOf = ({ errors }: Answer) => errors.map(({ source }) => source?.['pointer'])

/** The service without any model, and people to call it: everybody's token is good for all that may be asked here. */
export async function startJsonApi(settings: Record<string, string> = {}) {
  const empty = await writeConfig('', {})
  await empty.write({ providers: [] })
  const svc = await startApp({ AI_CONFIG: empty.file, ...settings }).finally(() => empty[Symbol.asyncDispose]())
  return Object.assign(svc, await addPeople(svc))
}

/** An administrator and two people, each with a client. */
export async function addPeople(svc: TestApp) {
  const abilities = ['ai', 'user', 'read', 'write'] as const
  const admin = await svc.user({ username: 'admin', role: 'admin', abilities: [...abilities, 'admin'] })
  const reading = await svc.host.tokens.createFor({
    user: { id: admin.id },
    name: 'reads',
    abilities: ['user', 'read'],
  })
  const ada = await svc.user({ username: 'ada', abilities: [...abilities] })
  const bob = await svc.user({ username: 'bob', abilities: [...abilities] })
  return {
    people: { admin, ada, bob },
    guest: createApiClient(svc),
    ada: createApiClient(svc, ada.token),
    bob: createApiClient(svc, bob.token),
    admin: createApiClient(svc, admin.token),
    /** The administrator by a token that cannot write. */
    adminReading: createApiClient(svc, reading.token),
  }
}

export type JsonApiApp = Awaited<ReturnType<typeof startJsonApi>>

/** Ids of the catalogue rows by their names in the tests. */
export interface Catalogue {
  provider: Record<'open' | 'inner' | 'off', string>
  model: Record<'external' | 'main' | 'inactive' | 'orphan' | 'innerOnly', string>
  tool: Record<'search' | 'fetch' | 'off' | 'loose', string>
  server: Record<'up' | 'down', string>
}

/**
 * Everything that can be hidden, beside what is seen: a provider for programs, one for the front end alone and one that
 * is off; models for programs, for the front end alone, switched off, and of the provider that is off; tools of a
 * function, of a server that is up and one that is down, and one that is off.
 */
export async function addCatalogue({ admin, rows }: JsonApiApp): Promise<Catalogue> {
  const add = async (type: string, attributes: object, relationships?: object) => {
    const { status, text, one } = await admin.create(type, attributes, relationships)
    if (status !== 201) throw new Error(`${type}: ${status} ${text}`)
    return one.id
  }
  const addProvider = (providerId: string, active = true) =>
    add('ai-providers', { providerId, name: providerId, adapter: 'demo', active, apiKey: `KEY-OF-${providerId}` })
  const provider = {
    open: await addProvider('open'),
    inner: await addProvider('inner'),
    off: await addProvider('off', false),
  }
  const addModel = (modelId: string, of: string, usageTypes: string[], active = true) =>
    add(
      'ai-models',
      { modelId, label: `Label ${modelId}`, usageTypes, active },
      { provider: toOne('ai-providers', of) },
    )
  const model = {
    external: await addModel('external', provider.open, ['main', 'external']),
    main: await addModel('main', provider.open, ['main']),
    inactive: await addModel('inactive', provider.open, ['main', 'external'], false),
    orphan: await addModel('orphan', provider.off, ['main', 'external']),
    innerOnly: await addModel('innerOnly', provider.inner, ['main']),
  }
  const addServer = (serverLabel: string) =>
    add('mcp-servers', { serverLabel, url: `https://${serverLabel}.example.org/mcp`, apiKey: `KEY-OF-${serverLabel}` })
  const server = { up: await addServer('up'), down: await addServer('down') }
  await rows('update mcp_servers set status = $1 where id = $2', ['online', server.up])
  await rows('update mcp_servers set status = $1 where id = $2', ['offline', server.down])
  const addTool = async (name: string, values: { server?: string; active?: boolean } = {}) => {
    const [row] = await rows<{ id: string }>(
      `insert into ai_tools (name, description, tool_type, server_id, mcp_name, active, capability)
       values ($1, $2, $3, $4, $5, $6, 'web_search') returning id::text`,
      [
        name,
        `Does ${name}.`,
        values.server ? 'mcp' : 'function',
        values.server ?? null,
        values.server ? name : null,
        values.active ?? true,
      ],
    )
    return row?.id ?? ''
  }
  const tool = {
    search: await addTool('search'),
    fetch: await addTool('fetch', { server: server.up }),
    off: await addTool('off', { server: server.up, active: false }),
    loose: await addTool('loose', { server: server.down }),
  }
  // Every model may call the first three tools; nothing but a model out of sight calls the last.
  const all = Object.values(model)
  for (const id of [tool.search, tool.fetch, tool.off]) {
    await rows('insert into ai_model_tools (model_id, tool_id) select unnest($1::int[]), $2', [all, id])
  }
  await rows('insert into ai_model_tools (model_id, tool_id) values ($1, $2)', [model.main, tool.loose])
  return { provider, model, tool, server }
}

/** Deletes providers, models, tools and their servers, so that the next test of a shared service begins with none. */
export async function emptyCatalogue(svc: TestApp): Promise<void> {
  for (const table of ['system_models', 'ai_models', 'ai_tools', 'mcp_servers']) await svc.rows(`delete from ${table}`)
  await svc.changeCatalogue('delete from ai_providers')
}
