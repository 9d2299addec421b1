import { z } from 'zod'
import { removeDuplicates } from '../ports/remove-duplicates.ts'
import type { Attribute, Relation, Resource } from '../resource/declare.ts'
import { resourceId } from '../resource/ids.ts'
import type { CreateInput, UpdateInput } from '../resource/record.ts'

const version = z.string().max(20)
export const ifVersion = z
  .union([version, z.array(version).max(50)])
  .describe(
    'The version that was read, or a list of them. The change is refused if the row has another version by now.',
  )
  .optional()

/** Members of an update that concern the row itself: its id and expected version. */
export interface RowChange extends Record<string, unknown> {
  id: string
  ifVersion?: z.output<typeof ifVersion>
}

/** Links per write of a row. */
const MAX_LINKS = 200

/** Builds the input schema of a new row: its writable members with their defaults. */
export function buildCreateInput<R extends Resource>(of: R) {
  const members = listWritableMembers(of, 'create').map(([name, schema, { default: fallback }]) => {
    return [name, fallback === undefined ? schema : schema.default(fallback)]
  })
  return z.strictObject(Object.fromEntries(members)) as unknown as z.ZodType<Record<string, unknown>, CreateInput<R>>
}

/** Builds the input schema of an update: its writable members, all optional. */
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

/** Builds the schema of a relation, which is written by ids. */
function buildIdsSchema({ many, ids = resourceId, about = '', default: fallback }: Relation): z.ZodType {
  if (many) return z.array(ids).max(MAX_LINKS).overwrite(removeDuplicates).describe(about)
  return (fallback === null ? ids.nullable() : ids).describe(about)
}
