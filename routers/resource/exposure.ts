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
export const exposeAs = (resource: Resource, verb: Verb): { exposes: Exposure } => ({ exposes: { resource, verb } })

/** `ai-tool-capabilities` gives `an ai-tool-capability`. */
export function singularWithArticle(type: string): string {
  const singular = type.replace(/ies$/, 'y').replace(/s$/, '')
  return `${/^[aeio]/.test(singular) ? 'an' : 'a'} ${singular}`
}

const verbs = { get: 'Read', create: 'Create', update: 'Change', delete: 'Delete' } as const
const changes = { add: 'Add to', replace: 'Replace', remove: 'Remove from' } as const

/** What a procedure does to resources of its type, where it does not say so itself. */
export function summarize({ resource: { type }, verb }: Exposure): string {
  if (verb === 'list') return `List ${type}.`
  if (verb === 'related' || verb === 'linkage') return `Read what a relation of ${singularWithArticle(type)} leads to.`
  if (typeof verb === 'string') return `${verbs[verb]} ${singularWithArticle(type)}.`
  if ('action' in verb) return `Carry out ${verb.action} on ${type}.`
  if ('proxy' in verb) return `Read what ${verb.proxy} has of ${type}.`
  if ('relationship' in verb) return `${changes[verb.change]} the ${verb.relationship} of ${singularWithArticle(type)}.`
  return `Read ${type}/${verb.member}.`
}
