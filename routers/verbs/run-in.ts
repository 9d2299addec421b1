import type { EntityManager } from '@mikro-orm/postgresql'
import type { CompiledStatement, ParameterValues } from '../../entities/sql/scope.ts'

/** Runs a statement in a transaction, which takes values by `?`, in the order in which they stand. */
export function runIn<Row>(
  em: EntityManager,
  { statement, values }: CompiledStatement<Row>,
  given: ParameterValues,
): Promise<Row[]> {
  const byPlace = values(given)
  const places = [...statement.text.matchAll(/\$(\d+)/g)].map(([, place]) => Number(place))
  const inOrder = places.map((place) => toArrayText(byPlace[place - 1]))
  return em.execute<Row[]>(statement.text.replace(/\$\d+/g, '?'), inOrder)
}

/** As the database writes an array of numbers: the ORM would make a list of parameters of it. */
const toArrayText = (value: unknown) => (Array.isArray(value) ? arrayOf(value) : value)

export const arrayOf = (ids: readonly number[]) => `{${ids.join()}}`
