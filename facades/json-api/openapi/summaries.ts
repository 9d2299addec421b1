import { metaOf } from '../../../routers/core/trpc.ts'
import { oneOf, sentenceFor } from '../../../routers/resource/words.ts'
import type { ServedRoute } from '../exposed-routes.ts'

/** What a route does, in a few words that no other route has. */
export function summaryOf({ procedure, resource, relation, answers, method }: ServedRoute): string {
  const { about, exposes } = metaOf(procedure)
  if (!relation || method !== 'GET') return (about ?? (exposes ? sentenceFor(exposes) : '')).replace(/\.$/, '')
  const linkage = answers === 'linkage' ? 'links to the ' : ''
  return `Read the ${linkage}${relation.name} of ${oneOf(resource.type)}`
}
