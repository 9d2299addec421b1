import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { middleware } from '../core/trpc.ts'
import type { Resource } from '../resource/declare.ts'
import type { RecordRef, ResourceRecord } from '../resource/record.ts'
import { RowReader } from './rows.ts'

/** Accepts any id; the input schema validates it later. */
const change = z.looseObject({ id: z.string() })

/**
 * Drops the members of an update that equal what the caller reads, before validation. A record sent back as it was read
 * is thus a valid update, although some members are read-only or masked.
 */
export const dropUnchanged = (of: Resource) =>
  middleware(async ({ ctx, getRawInput, next }) => {
    const { data } = change.safeParse(await getRawInput())
    if (!data || !of.ids.schema.safeParse(data.id).success) return next()
    const lists = Object.keys(data).filter((name) => Object.hasOwn(of.relations, name) && of.relations[name]?.many)
    const record = await new RowReader(ctx).byId(of, data.id, lists)
    if (!record) return next()
    const changed = Object.entries(data).filter(([name, value]) => !isUnchanged(of, record, name, value))
    return next({ getRawInput: async () => Object.fromEntries(changed) })
  })

function isUnchanged(of: Resource, record: ResourceRecord, name: string, value: unknown): boolean {
  if (Object.hasOwn(of.relations, name)) return isDeepStrictEqual(readIds(record.relations[name]), sortIds(value))
  const isAttribute = Object.hasOwn(of.attributes, name)
  return isAttribute && isDeepStrictEqual((record as unknown as Record<string, unknown>)[name], value)
}

/** Returns the linkage in the form of an input: the related id, or the sorted ids of a to-many relation. */
const readIds = (linked: RecordRef | RecordRef[] | null | undefined) =>
  Array.isArray(linked) ? linked.map(({ id }) => id).sort() : (linked?.id ?? null)

const sortIds = (value: unknown) => (Array.isArray(value) ? value.toSorted() : value)
