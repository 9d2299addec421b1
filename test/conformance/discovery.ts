import { type Api, newRelation, type Relation, type TargetType, undescribed, unknownApi } from './api.ts'
import { type ClientOptions, credentialsOf } from './client.ts'
import { describedTypes } from './described-types.ts'
import { type Json, type JsonObject, object, text } from './json.ts'
import { OpenApiReader } from './openapi/reader.ts'
import type { ServerDescription } from './server-description.ts'
import type { TargetReader } from './target-reader.ts'
import { dataOf, relationshipsOf } from './walk.ts'

export interface ApiOptions extends ClientOptions {
  /** The URL of the server's own description; `{url}/openapi.json` by default. */
  openapi?: string | undefined
  /** Only these types; where there is no description, the way to know them. */
  types?: string[] | undefined
  /** A hand-written description of the server. */
  description?: ServerDescription | undefined
}

/** The server's own description and the hand-written one. */
export async function describe({ openapi, types, description, ...client }: ApiOptions): Promise<Api> {
  const address = openapi ?? description?.openapi
  const api = address === false ? unknownApi : await readOpenApi(client, address)
  const known = description ? describedTypes(description, api) : api.types
  if (!types) return { ...api, types: known }
  return { ...api, types: types.map((name) => known.find((type) => type.name === name) ?? undescribed(name)) }
}

async function readOpenApi(client: ClientOptions, openapi: string | undefined): Promise<Api> {
  const base = client.url.replace(/\/$/, '')
  const address = openapi ?? `${base}/openapi.json`
  const isOurs = new URL(address).origin === new URL(base).origin
  const headers = { accept: 'application/json, */*', ...(isOurs && credentialsOf(client)) }
  const response = await fetch(address, { headers }).catch(() => undefined)
  const document = response?.ok ? object(await response.json().catch(() => undefined)) : {}
  return new OpenApiReader(document, new URL(base).pathname.replace(/\/$/, '')).read()
}

/** Learns from samples what the description leaves open. */
export async function learnFrom(server: TargetReader, type: TargetType): Promise<void> {
  const samples = await server.samples(type)
  for (const resource of samples) {
    for (const { name, value } of relationshipsOf(resource)) learn(type, name, value)
  }
  for (const { relation, self } of samples.slice(0, 3).flatMap((it) => server.linksOf(type, it))) {
    const isKnown = relation.many !== undefined && relation.to !== undefined
    if (self && !isKnown) learnLinkage(relation, (await server.get(self)).document['data'])
  }
}

function learn(type: TargetType, name: string, value: JsonObject): void {
  const links = object(value['links'])
  const relation = type.relations.get(name) ?? newRelation(name)
  type.relations.set(name, relation)
  relation.linkage ||= Boolean(links['self'])
  relation.related ||= Boolean(links['related'])
  learnLinkage(relation, value['data'])
}

function learnLinkage(relation: Relation, data: Json | undefined): void {
  if (data === undefined) return
  relation.many ??= Array.isArray(data)
  const to = dataOf(data)[0]?.['type']
  if (to) relation.to ??= text(to)
}
