import type { Context } from '../core/context.ts'
import type { Attribute, Relation, Resource } from '../resource/declare.ts'
import type { ColumnMapping } from '../resource/mapping.ts'
import type { Saving } from '../resource/saving.ts'

type Data = Record<string, unknown>

/** The members of an input as properties of the entity; without those that are no column of it. */
export function columnsOf({ services: { resources, vault } }: Context, of: Resource, given: Data): Data {
  const { columns } = resources.tableOf(of.type)
  const storedOf = ({ sealed }: Attribute, value: unknown, column: ColumnMapping | undefined): unknown => {
    if (value === null || value === undefined) return value
    if (sealed) return vault.seal(typeof value === 'string' ? value : JSON.stringify(value), sealed)
    return column?.isTime ? new Date(String(value)) : value
  }
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, value]) => {
      const [attribute, relation] = [of.attributes[name], of.relations[name]]
      if (relation) return [[relation.property ?? name, linkedBy(relation, value)]]
      return attribute && !attribute.save
        ? [[attribute.property ?? name, storedOf(attribute, value, columns[name])]]
        : []
    }),
  )
}

/** Ids as the entity has them. */
const linkedBy = ({ many }: Relation, value: unknown) =>
  many ? (value as string[]).map(Number) : value === null ? null : Number(value)

/** The properties that hold the to-many relations among what is given. */
export const listsOf = ({ relations }: Resource, given: Data): string[] =>
  Object.entries(relations).flatMap(([name, { many, property = name }]) => (many && name in given ? [property] : []))

/** Writes what is kept in tables of its own. */
export async function saveBeside({ attributes }: Resource, saving: Saving, given: Data): Promise<void> {
  for (const [name, value] of Object.entries(given)) await attributes[name]?.save?.(saving, value)
}
