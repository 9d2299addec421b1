import type { Model } from './client.ts'

/** Returns the id of a related record; null if there is none. */
export function getRelatedId({ relations }: { relations?: Model['relations'] }, name: string): string | null {
  const related = relations?.[name]
  return related && !Array.isArray(related) ? related.id : null
}
