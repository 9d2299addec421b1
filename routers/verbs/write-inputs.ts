import { z } from 'zod'
import type { Attribute, Relation, Resource } from '../resource/declare.ts'
import { resourceId } from '../resource/ids.ts'
import type { CreateInput, UpdateInput } from '../resource/record.ts'

const version = z.string().max(20)
export const ifVersion = z
  .union([version, z.array(version).max(50)])
  .describe('Insists that the row has not changed since this version, or one of these, was read.')
  .optional()

/** The members of an input that concern the row itself: its id, and what it must be like. */
export interface RowChange extends Record<string, unknown> {
  id: string
  ifVersion?: z.output<typeof ifVersion>
}

/** As many as may be linked by one write of the row. */
const MAX_LINKS = 200
export const removeDuplicates = <T>(list: T[]): T[] => [...new Set(list)]

/** What a new row is given: what is written then, with its defaults. */
export function buildCreateInput<R extends Resource>(of: R) {
  const members = listWritableMembers(of, 'create').map(([name, schema, { default: fallback }]) => {
    return [name, fallback === undefined ? schema : schema.default(fallback)]
  })
  return z.strictObject(Object.fromEntries(members)) as unknown as z.ZodType<Record<string, unknown>, CreateInput<R>>
}

/** What a change of a row is given: some of what is written then. */
export function buildUpdateInput<R extends Resource>(of: R) {
  const members = listWritableMembers(of, 'update').map(([name, schema]) => [name, schema.optional()])
  const shape = { ...Object.fromEntries(members), id: of.ids.schema, ifVersion }
  return z.strictObject(shape) as unknown as z.ZodType<RowChange, UpdateInput<R>>
}

type Member = [name: string, schema: z.ZodType, Attribute | Relation]

function listWritableMembers({ attributes, relations }: Resource, moment: 'create' | 'update'): Member[] {
  const members: Member[] = [
    ...Object.entries(attributes).map(([name, it]): Member => [name, it.input ?? it.schema, it]),
    ...Object.entries(relations).map(([name, it]): Member => [name, buildIdsSchema(it), it]),
  ]
  return members.filter(([, , { write }]) => write === true || write === moment)
}

/** A relation is written by ids. */
function buildIdsSchema({ many, about = '', default: fallback }: Relation): z.ZodType {
  const ids = many
    ? z.array(resourceId).max(MAX_LINKS).overwrite(removeDuplicates)
    : fallback === null
      ? resourceId.nullable()
      : resourceId
  return ids.describe(about)
}
