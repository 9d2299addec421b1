import { createHash } from 'node:crypto'
import fastify, { type FastifyReply } from 'fastify'
import pg from 'pg'
import { coalescedStatement, isoTime, type Statement } from '../../entities/sql/statement.ts'
import { type SharedResponse, SharedResponses } from '../../facades/json-api/handler.ts'
import type { StoredResponse } from '../../routers/core/idempotency.ts'
import { coalesce } from '../../server/database/coalesce.ts'
import { servePart } from './serve.ts'

interface Input {
  databaseUrl: string
}

type Row = Record<string, unknown> & { id: string }

const base = '/api/svc/v1'
const byId = { idsAt: 0, idColumn: 'id' } as const
const findTokens = coalescedStatement<Row>(
  'token',
  'select id::text as id, user_id, hash from access_tokens where id = any($1::int[])',
  byId,
)

const columns = `m.id::text as id, m.provider_id::text as provider, m.active, m.model_id as "modelId", m.model_type as "modelType",
  m.label, m.input, m.output, m.parameters, m.status, m.demand, m.native_capabilities as "nativeCapabilities", m.settings,
  m.limits, m.pricing, m.position, m.flags, m.documentation_url as "documentationUrl",
  ${isoTime('m.deprecation_date')} as "deprecationDate",
  (select s.model_id from ai_models s where s.model_id = m.successor) as successor,
  array(select t.tool_id from ai_model_tools t where t.model_id = m.id order by 1) as "toolIds",
  ${isoTime('m.created_at')} as "createdAt", ${isoTime('m.updated_at')} as "updatedAt"`

const times = `${isoTime('created_at')} as "createdAt", ${isoTime('updated_at')} as "updatedAt"`

const models = coalescedStatement<Row>(
  'models',
  `select ${columns} from ai_models m where m.active and m.id = any($1::int[])`,
  byId,
)
const orders: Record<string, string> = {
  '': 'm.id',
  label: 'm.label, m.id',
  '-label': 'm.label desc, m.id',
  modelId: 'm.model_id, m.id',
  '-modelId': 'm.model_id desc, m.id',
}
const pageBy = Object.fromEntries(
  Object.entries(orders).map(([sort, order]) => [
    sort,
    coalescedStatement<Row>(
      `page ${sort}`,
      `select ${columns} from ai_models m where m.active order by ${order} limit $1 offset $2`,
    ),
  ]),
)
const count = coalescedStatement<{ total: number }>(
  'count',
  'select count(*)::int as total from ai_models where active',
)
const providers = coalescedStatement<Row>(
  'providers',
  `select id::text as id, provider_id as "providerId", name, ${times} from ai_providers where id = any($1::int[])`,
  byId,
)
const descriptions = coalescedStatement<Row>(
  'descriptions',
  `select id::text as id, model_id as "aiModelId", locale, description, ${times} from ai_model_descriptions
    where locale = 'en_US' and model_id = any($1::int[]) order by model_id, id`,
  { idsAt: 0, idColumn: 'aiModelId' },
)

/** The least program that sends the same bytes: no scopes, no rules, no negotiation, no logging. It shares statements and pages as the service does. */
servePart(async ({ databaseUrl }: Input) => {
  const database = new pg.Pool({ connectionString: databaseUrl, max: 10 })
  const sql = coalesce(
    async <Found>({ name, text }: Statement<Found>, values: readonly unknown[] = []) =>
      (await database.query({ name, text, values: [...values] })).rows as Found[],
  )
  const pages = new SharedResponses()
  const app = fastify()

  app.addHook('onRequest', async (request, reply) => {
    const [token] = await sql(findTokens, [[Number(request.headers.authorization?.split('_', 2)[1])]])
    if (!token) await reply.code(401).send()
  })

  app.get<{ Params: { id: string } }>(`${base}/ai-models/:id`, async (request, reply) => {
    const [row] = await sql(models, [[Number(request.params.id)]])
    return row && send(reply, written({ jsonapi, data: modelOf(row), links: { self: request.url } }))
  })

  app.get<{ Querystring: Record<string, string> }>(`${base}/ai-models`, async (request, reply) => {
    const size = Number(request.query['page[size]'])
    const number = Number(request.query['page[number]'] ?? 1)
    const page = pageBy[request.query['sort'] ?? ''] as Statement<Row>
    const before = (number - 1) * size
    const [found, [counted]] = await Promise.all([sql(page, [size, before]), sql(count)])
    const total = counted?.total ?? 0
    const lastPage = Math.ceil(total / size)
    const links = linksOf(request.url, { size, number, lastPage })
    const meta = {
      page: { currentPage: number, from: before + 1, to: before + found.length, perPage: size, lastPage, total },
    }
    if (!request.query['include']) {
      const write = async () => written({ jsonapi, data: found.map((row) => modelOf(row)), links, meta })
      return send(reply, await pages.share(request.url, { found, total }, write))
    }
    const ids = found.map(({ id }) => Number(id))
    const [owners, texts] = await Promise.all([
      sql(providers, [[...new Set(found.map(({ provider }) => Number(provider)))]]),
      sql(descriptions, [ids]),
    ])
    const write = async () => {
      const byModel = Map.groupBy(texts, ({ aiModelId }) => String(aiModelId))
      const data = found.map((row) => modelOf(row, byModel.get(row.id) ?? []))
      const included = [...owners.map(providerOf), ...texts.map(descriptionOf)]
      return written({ jsonapi, data, included, links, meta })
    }
    return send(reply, await pages.share(request.url, { found, total, owners, texts }, write))
  })

  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  return { ready: { url }, stop: () => Promise.all([app.close(), database.end()]) }
})

const jsonapi = { version: '1.1' }

/** A document as it is sent, with its entity tag. */
function written(document: object): StoredResponse {
  const payload = JSON.stringify(document)
  const etag = `"${createHash('sha1').update(payload).digest('base64url')}"`
  return { status: 200, headers: { etag, 'content-type': 'application/vnd.api+json' }, payload }
}

const send = (reply: FastifyReply, { headers, payload }: StoredResponse | SharedResponse) =>
  reply.headers(headers).send(payload)

const related = (self: string, name: string) => ({ self: `${self}/relationships/${name}`, related: `${self}/${name}` })

function modelOf({ id, provider, ...attributes }: Row, texts?: Row[]) {
  const self = `${base}/ai-models/${id}`
  const described = texts?.map((text) => ({ type: 'ai-model-descriptions', id: text.id }))
  return {
    type: 'ai-models',
    id,
    attributes,
    links: { self },
    relationships: {
      provider: { links: related(self, 'provider'), data: { type: 'ai-providers', id: provider } },
      tools: { links: related(self, 'tools') },
      descriptions: { links: related(self, 'descriptions'), ...(described && { data: described }) },
    },
  }
}

function providerOf({ id, ...attributes }: Row) {
  const self = `${base}/ai-providers/${id}`
  return {
    type: 'ai-providers',
    id,
    attributes,
    links: { self },
    relationships: { models: { links: related(self, 'models') } },
  }
}

function descriptionOf({ id, ...attributes }: Row) {
  const self = `${base}/ai-model-descriptions/${id}`
  const data = { type: 'ai-models', id: String(attributes['aiModelId']) }
  return {
    type: 'ai-model-descriptions',
    id,
    attributes,
    links: { self },
    relationships: { model: { links: related(self, 'model'), data } },
  }
}

function linksOf(self: string, { size, number, lastPage }: Record<'size' | 'number' | 'lastPage', number>) {
  const at = (number: number) => {
    const parameters = new URLSearchParams(self.split('?')[1])
    parameters.set('page[number]', String(number))
    parameters.set('page[size]', String(size))
    return `${base}/ai-models?${parameters}`
  }
  const [prev, next] = [number > 1 ? at(number - 1) : null, number < lastPage ? at(number + 1) : null]
  return { self, first: at(1), prev, next, last: at(lastPage) }
}
