import type { Json, JsonObject } from './json.ts'

export type Verb = 'list' | 'get' | 'create' | 'update' | 'delete'
export type Change = 'PATCH' | 'POST' | 'DELETE'

export interface Relation {
  name: string
  /** The related type and whether there are many, where known. */
  to?: string
  many?: boolean
  related: boolean
  linkage: boolean
  changes: Set<Change>
}

/** A relationship that a document which makes a resource may give. */
export interface GivenRelation {
  name: string
  isRequired: boolean
  to?: string | undefined
  many?: boolean | undefined
}

/** The document that creates resources of a type. */
export interface Creation {
  /** Attributes of a new resource, with values of their own each time. */
  attributes(): JsonObject
  relations: GivenRelation[]
}

/** The document that updates resources of a type. */
export interface Update {
  /** An attribute that takes another value than the one that it has, and such a value. */
  change(attributes: JsonObject): { name: string; value: Json } | undefined
  relations: string[]
}

export interface TargetType {
  name: string
  path: string
  /** True if the list is complete, so that other operations are known to be unsupported. */
  described: boolean
  verbs: Set<Verb>
  relations: Map<string, Relation>
  includes: string[]
  sorts: string[]
  /** Names of all declared query parameters of the collection. */
  parameters: string[]
  /** Ids that are known without a look at the collection. */
  ids: string[]
  create?: Creation | undefined
  update?: Update | undefined
}

/** Knowledge about a server before it is tested. */
export interface Api {
  types: TargetType[]
  actions: string[]
  /** Every declared query parameter, with the route that declares it. */
  parameters: { name: string; at: string }[]
  ext: string[]
  profile: string[]
}

export const unknownApi: Api = { types: [], actions: [], parameters: [], ext: [], profile: [] }

export const newRelation = (name: string): Relation => ({ name, related: false, linkage: false, changes: new Set() })

/** A type of which only the name is known. */
export const undescribed = (name: string): TargetType => ({
  name,
  path: `/${name}`,
  described: false,
  verbs: new Set(['list', 'get']),
  relations: new Map(),
  includes: [],
  sorts: [],
  parameters: [],
  ids: [],
})
