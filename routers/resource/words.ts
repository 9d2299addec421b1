import type { Exposure } from './exposure.ts'

/** `ai-tool-capabilities` gives `an ai-tool-capability`. */
export function writeSingular(type: string): string {
  const singular = type.replace(/ies$/, 'y').replace(/s$/, '')
  return `${/^[aeio]/.test(singular) ? 'an' : 'a'} ${singular}`
}

const verbs = { get: 'Read', create: 'Create', update: 'Change', delete: 'Delete' } as const
const changes = { add: 'Add to', replace: 'Replace', remove: 'Remove from' } as const

/** What a procedure does to resources of its type, where it does not say so itself. */
export function sentenceFor({ resource: { type }, verb }: Exposure): string {
  if (verb === 'list') return `List ${type}.`
  if (verb === 'related' || verb === 'linkage') return `Read what a relation of ${writeSingular(type)} leads to.`
  if (typeof verb === 'string') return `${verbs[verb]} ${writeSingular(type)}.`
  if ('action' in verb) return `Carry out ${verb.action} on ${type}.`
  if ('proxy' in verb) return `Read what ${verb.proxy} has of ${type}.`
  if ('relationship' in verb) return `${changes[verb.change]} the ${verb.relationship} of ${writeSingular(type)}.`
  return `Read ${type}/${verb.member}.`
}
