import type { Resource } from './declare.ts'

/** What a procedure carries out on a resource. Path, method and status follow from it. */
export type Verb =
  | 'list'
  | 'get'
  | 'related'
  | 'linkage'
  | 'create'
  | 'update'
  | 'delete'
  /** A single resource with a name in place of an id, such as `me`. */
  | { member: string }
  /** A change of a to-many relation alone. */
  | { relationship: string; change: 'add' | 'replace' | 'remove' }
  /** Bytes below `/proxy/{name}/`, found by an `identifier`. */
  | { proxy: string }
  /** A custom action, of one row where `ofOne`, or of the single resource with a name; `ends` what it names, or `creates` the row it returns. */
  | { action: string; ofOne?: boolean; member?: string; ends?: true; creates?: true }

export interface Exposure {
  resource: Resource
  verb: Verb
}

/** Tags a procedure with what it carries out; facades read it, and the procedure knows no wire. */
export const exposes = (resource: Resource, verb: Verb): { exposes: Exposure } => ({ exposes: { resource, verb } })
