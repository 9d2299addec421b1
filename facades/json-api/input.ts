import type { FastifyRequest } from 'fastify'
import { Problem } from '../../routers/core/problems.ts'
import { expectedVersions } from '../http/conditional.ts'
import { inputsOf } from '../http/procedures.ts'
import { readAction, readLinkage, readResource } from './body.ts'
import type { ServedRoute } from './exposed-routes.ts'
import type { Members } from './members.ts'
import type { ParsedQuery } from './query.ts'
import type { Route } from './routes.ts'

/** The input of the procedure that a route calls. */
export function inputOf(
  route: ServedRoute,
  members: Members,
  { input }: ParsedQuery,
  request: FastifyRequest,
  body: unknown,
): object {
  const { method, relation } = route
  const target = request.params as { id?: string }
  const { id } = target
  if (method === 'GET') return { ...input, ...target, ...(relation && { relation: relation.name }) }
  const expected = readIfMatch(route, id, request)
  return { ...given(members, route, body, id), ...target, ...expected }
}

function given(members: Members, route: ServedRoute, body: unknown, id: string | undefined): object {
  const { method, answers, resource, relation, procedure } = route
  if (answers === 'linkage' && relation) return readLinkage(relation.of, body)
  if (answers === 'action') return readAction(resource, members.inputOf(inputsOf(procedure)), body)
  return method === 'DELETE' ? {} : readResource(resource, members, body, id)
}

/** The versions that `If-Match` names. Throws where the address is not that of a row, and so has none. */
function readIfMatch(
  { answers }: Route,
  id: string | undefined,
  { headers }: FastifyRequest,
): { ifVersion?: string[] } {
  const ifVersion = expectedVersions(headers['if-match'])
  if (ifVersion && (id === undefined || answers === 'action')) throw new Problem('precondition_failed')
  return ifVersion ? { ifVersion } : {}
}
