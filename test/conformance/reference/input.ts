import { randomUUID } from 'node:crypto'
import { isObject, type Json, type JsonObject, object, text } from '../json.ts'
import type { Broken } from './breakages.ts'
import { type Relation, type Row, type Store, type Type, types } from './model.ts'
import { Refusal } from './refusal.ts'

const UUID = new RegExp(`^${randomUUID().replace(/[^-]/g, '[0-9a-f]')}$`, 'i')

const refuse = (pointer: string) => new Refusal(422, 'invalid_document', { pointer })
const lost = (pointer: string) => new Refusal(404, 'not_found', { pointer })

/** The resource that a document makes, before it is there. */
interface Local {
  type: Json | undefined
  lid: Json | undefined
  id: string
}

/** Reads documents that clients send, and judges them against what there is. */
export class Reader {
  readonly #store: Store
  readonly #broken: Broken

  constructor(store: Store, broken: Broken) {
    this.#store = store
    this.#broken = broken
  }

  /** The resource object of a document, which must be of the type. */
  resource(type: string, body: Json | undefined): JsonObject {
    const { data } = object(body)
    if (!isObject(data)) throw refuse(data === undefined ? '' : '/data')
    if (typeof data['type'] !== 'string') throw refuse(data['type'] === undefined ? '/data' : '/data/type')
    if (data['type'] !== type)
      throw new Refusal(this.#broken('wrong-type-422') ? 422 : 409, 'wrong_type', { pointer: '/data/type' })
    return data
  }

  /** The id that a client chose. */
  ownId(name: string, { id }: JsonObject): string | undefined {
    if (id === undefined) return undefined
    if (!types[name]?.ownIds || !UUID.test(text(id))) throw new Refusal(403, 'client_id', { pointer: '/data/id' })
    if (this.#store.find(name, text(id))) throw new Refusal(409, 'taken', { pointer: '/data/id' })
    return text(id)
  }

  attributes({ attributes: known }: Type, data: JsonObject): Record<string, Json> {
    const given = Object.entries(object(data['attributes'])).filter(([name]) => name in known)
    const wrong = given.find(([name, value]) => !fits(known[name] ?? {}, value))
    if (wrong) throw refuse(`/data/attributes/${wrong[0]}`)
    return Object.fromEntries(given)
  }

  /** The relationships of a resource; a new resource may refer to itself by its `lid`. */
  links({ relations }: Type, data: JsonObject, id = ''): Row['links'] {
    const local = { type: data['type'], lid: data['lid'], id }
    const given = Object.entries(object(data['relationships']))
    return Object.fromEntries(
      given.map(([name, value]) => {
        const relation = relations[name]
        const pointer = `/data/relationships/${name}`
        if (!relation || relation.inverse) throw refuse(pointer)
        return [name, this.linkage(relation, object(value)['data'], pointer, local)]
      }),
    )
  }

  /** Ids of the rows that linkage names. */
  linkage(relation: Relation, data: Json | undefined, pointer: string, local?: Local): string | string[] | null {
    if (data === undefined || Boolean(relation.many) !== Array.isArray(data)) throw refuse(pointer)
    if (Array.isArray(data)) return [...new Set(data.map((it) => this.#id(relation, it, pointer, local)))]
    if (data === null && relation.required) throw refuse(pointer)
    return data === null ? null : this.#id(relation, data, pointer, local)
  }

  #id({ to }: Relation, identifier: Json, pointer: string, local?: Local): string {
    const { type, id, lid } = object(identifier)
    if (lid !== undefined && this.#broken('local-ids-ignored')) return local?.id ?? ''
    if (lid !== undefined && type === to && type === local?.type && lid === local.lid) return local.id
    if (type !== to || typeof id !== 'string') throw refuse(pointer)
    if (!this.#store.find(to, id)) throw lost(pointer)
    return id
  }
}

function fits({ type, minLength = 0 }: JsonObject, value: Json): boolean {
  const kinds = [type].flat()
  if (value === null) return kinds.includes('null')
  if (typeof value === 'number') return kinds.includes('integer')
  return kinds.includes(typeof value) && String(value).length >= Number(minLength)
}
