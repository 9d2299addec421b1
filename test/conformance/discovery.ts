import { type Json, type JsonObject, object, text } from './json.ts'
import { type Description, newRelation, OpenApiReader, type Relation, type TargetType, undescribed } from './openapi.ts'
import type { TargetOptions, TargetServer } from './target.ts'
import { dataOf, relationshipsOf } from './walk.ts'

/** What a server says of itself, or what is said of it. */
export async function describe({ url, token, openapi, types }: TargetOptions): Promise<Description> {
  const base = url.replace(/\/$/, '')
  const address = openapi ?? `${base}/openapi.json`
  const isOurs = new URL(address).origin === new URL(base).origin
  const headers = { accept: 'application/json, */*', ...(token && isOurs && { authorization: `Bearer ${token}` }) }
  const response = await fetch(address, { headers }).catch(() => undefined)
  const document = response?.ok ? object(await response.json().catch(() => undefined)) : {}
  const description = new OpenApiReader(document, new URL(base).pathname.replace(/\/$/, '')).read()
  if (!types) return description
  const known = new Map(description.types.map((type) => [type.name, type]))
  return { ...description, types: types.map((name) => known.get(name) ?? undescribed(name)) }
}

/** Learns from samples what the description leaves open. */
export async function learnFrom(server: TargetServer, type: TargetType): Promise<void> {
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
