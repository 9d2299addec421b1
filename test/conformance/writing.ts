import type { Change, Relation, TargetType } from './api.ts'
import { applies, demandStatus, each } from './check.ts'
import { type Json, type JsonObject, object } from './json.ts'
import type { TargetServer } from './target.ts'
import type { Linked } from './target-reader.ts'
import { dataOf, identifierOf, keyOf } from './walk.ts'

export const NOTHING_MADE = 'nothing can be made'
const NOTHING_CHANGED = 'nothing that can be made can be changed'

/** A resource of our own of each type that can be changed. */
export const eachOwn = (server: TargetServer, check: (type: TargetType, resource: JsonObject) => unknown) =>
  each(
    server.makeable().filter(({ verbs }) => verbs.has('update')),
    NOTHING_CHANGED,
    async (type) => check(type, await server.make(type)),
  )

/** An attribute that an update may change, with another value than the one that it has. */
export function change(type: TargetType, resource: JsonObject): { name: string; value: Json } {
  const found = type.update?.change(object(resource['attributes']))
  applies(found !== undefined, `no attribute of ${type.name} is known to take another value`)
  return found
}

export const updateOf = (resource: JsonObject, parts: JsonObject): { data: JsonObject } => ({
  data: { ...identifierOf(resource), ...parts },
})

export async function read(server: TargetServer, type: TargetType, resource: JsonObject): Promise<JsonObject> {
  const answer = await server.get(server.pathOf(type, resource['id']))
  demandStatus(answer, 200)
  return object(answer.document['data'])
}

/** Relations that a creation or an update may set. */
export function settable(type: TargetType, by: 'create' | 'update'): Relation[] {
  const names = by === 'create' ? type.create?.relations.map(({ name }) => name) : type.update?.relations
  return names?.flatMap((name) => type.relations.get(name) ?? []) ?? []
}

/** Linkage that leads to nothing. */
export const lostLinkage = (server: TargetServer, { to, many }: Relation): Json => {
  const identifier = { type: to ?? 'nonesuch', id: server.missingId }
  return many ? [identifier] : identifier
}

/** Identifiers that a relation may hold. */
export async function candidates(server: TargetServer, relation: Relation, count: number): Promise<JsonObject[]> {
  const type = server.typeOf(relation.to)
  applies(type !== undefined, `it is not known what ${relation.name} leads to`)
  const found = (await server.samples(type)).map(identifierOf).slice(0, count)
  while (found.length < count && server.makeable().includes(type)) found.push(identifierOf(await server.make(type)))
  applies(found.length === count, `there are no ${count} ${type.name}`)
  return found
}

/** Relations of the kind that can be changed in this way; each one is put back as it was. */
export async function eachChangeable(
  server: TargetServer,
  { many, by }: { many: boolean; by: Change },
  check: (linked: Linked, before: JsonObject[]) => unknown,
): Promise<void> {
  server.requireWrites()
  const all = server.types.flatMap((type) => [...type.relations.values()].map((relation) => ({ type, relation })))
  const fit = all.filter(({ relation }) => relation.many === many && relation.changes.has(by))
  await each(fit, `no ${many ? 'to-many' : 'to-one'} relationship takes ${by}`, async ({ type, relation }) => {
    const resource = server.makeable().includes(type) ? await server.make(type) : await server.sample(type)
    const linked = server.linkedBy(type, resource, relation.name)
    const before = (await server.get(linked.self)).document['data'] ?? null
    try {
      await check(linked, dataOf(before))
    } finally {
      await restore(server, linked, before)
    }
  })
}

/** Puts a relationship back as it was, member by member where it is not replaced as a whole. */
async function restore(server: TargetServer, { self, relation }: Linked, before: Json): Promise<void> {
  if (relation.changes.has('PATCH')) {
    const { status } = await server.send('PATCH', self, { body: { data: before } })
    if (status < 300) return
  }
  const [held, now] = [dataOf(before), await server.allDataAt(self)]
  const missingIn = (these: JsonObject[], those: JsonObject[]) =>
    those.filter((it) => !these.some((other) => keyOf(other) === keyOf(it))).map(identifierOf)
  const changes = { POST: missingIn(now, held), DELETE: missingIn(held, now) }
  for (const by of ['POST', 'DELETE'] as const) {
    if (relation.changes.has(by) && changes[by].length > 0) await server.send(by, self, { body: { data: changes[by] } })
  }
}
