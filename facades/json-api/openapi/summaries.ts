import type { Exposure } from '../../../routers/resource/declare.ts'
import { oneOf, sentenceFor } from '../../../routers/resource/words.ts'
import { factsOf } from '../../http/procedures.ts'
import type { ServedRoute } from '../exposed-routes.ts'

/** What a route does, in a few words that no other route has. */
export function summaryOf({ procedure, resource, relation, answers, method }: ServedRoute): string {
  const { about, exposes } = factsOf(procedure).meta
  if (!relation || method !== 'GET') return (about ?? sentenceFor(exposes as Exposure)).replace(/\.$/, '')
  const linkage = answers === 'linkage' ? 'links to the ' : ''
  return `Read the ${linkage}${relation.name} of ${oneOf(resource.type)}`
}
