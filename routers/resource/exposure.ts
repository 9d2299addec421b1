import type { Resource } from './declare.ts'

/** A verb that a procedure carries out on a resource; it determines path, method and status. */
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
  /** A change of a to-many relation. */
  | { relationship: string; change: 'add' | 'replace' | 'remove' }
  /** Bytes below `/proxy/{name}/`, found by an `identifier`. */
  | { proxy: string }
  /**
   * A custom action of the type, of one row (`ofOne`) or of a named resource (`member`); `ends` deletes what the action
   * reads, `creates` returns a new row.
   */
  | { action: string; ofOne?: boolean; member?: string; ends?: true; creates?: true }

export interface Exposure {
  resource: Resource
  verb: Verb
}

/** Returns the metadata that exposes a procedure as a verb of a resource; facades read it. */
export const exposeAs = (resource: Resource, verb: Verb): { exposes: Exposure } => ({ exposes: { resource, verb } })

/** Returns `an ai-tool-capability` for `ai-tool-capabilities`. */
export function toSingular(type: string): string {
  const singular = type.replace(/ies$/, 'y').replace(/s$/, '')
  return `${/^[aeio]/.test(singular) ? 'an' : 'a'} ${singular}`
}

const verbs = { get: 'Read', create: 'Create', update: 'Change', delete: 'Delete' } as const
const changes = { add: 'Add to', replace: 'Replace', remove: 'Remove from' } as const

/** Describes a procedure that has no description of its own. */
export function summarize({ resource: { type }, verb }: Exposure): string {
  if (verb === 'list') return `List ${type}.`
  if (verb === 'related' || verb === 'linkage') return `Read what a relation of ${toSingular(type)} leads to.`
  if (typeof verb === 'string') return `${verbs[verb]} ${toSingular(type)}.`
  if ('action' in verb) return `Carry out ${verb.action} on ${type}.`
  if ('proxy' in verb) return `Read what ${verb.proxy} has of ${type}.`
  if ('relationship' in verb) return `${changes[verb.change]} the ${verb.relationship} of ${toSingular(type)}.`
  return `Read ${type}/${verb.member}.`
}
