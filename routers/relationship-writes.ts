import { z } from 'zod'
import type { Context } from './context.ts'
import { Problem } from './problems.ts'
import { getRow, rowId } from './reads.ts'
import { exposes, type Linked, type Relation, type Resource } from './resource.ts'
import { administrator, refuse } from './writes.ts'

type Change = 'add' | 'replace' | 'remove'

const linkage = z.strictObject({ id: rowId, ids: z.array(rowId).max(1000) })

/** Changes of a relation that is joined through a table, for administrators: as a whole or not at all. */
export function relationshipWrites(of: Resource, name: string) {
  const change = (kind: Change) =>
    administrator
      .meta(exposes(of, { relationship: name, change: kind }))
      .input(linkage)
      .mutation(({ ctx, input }) => changeLinks(ctx, of, name, { ...input, kind }))
  return { add: change('add'), replace: change('replace'), remove: change('remove') }
}

async function changeLinks(
  ctx: Context,
  of: Resource,
  name: string,
  { id, ids, kind }: z.output<typeof linkage> & { kind: Change },
) {
  const { path, to } = of.relations[name] as Relation
  if (!('through' in path)) throw new Problem('read_only')
  await getRow(ctx, of, id)
  const { through, from, to: other } = path
  const wanted = [...new Set(ids.map(Number))]
  await ctx
    .em()
    .transactional(async (em) => {
      if (kind !== 'remove') await assertAll(ctx, to, wanted)
      const mine = [Number(id)]
      if (kind === 'replace') await em.execute(`delete from ${through} where ${from} = ?`, mine)
      if (kind === 'remove')
        await em.execute(`delete from ${through} where ${from} = ? and ${other} = any(?::int[])`, [...mine, wanted])
      else
        await em.execute(
          `insert into ${through} (${from}, ${other}) select ?, unnest(?::int[]) on conflict do nothing`,
          [...mine, wanted],
        )
      await em.execute(`update ${of.table} set updated_at = now() where id = ?`, [Number(id)])
    })
    .catch(refuse)
  const { relations } = await getRow(ctx, of, id, [name])
  return relations?.[name] as Linked[]
}

/** A link to a row that is not there would be the database's error, without a word on which. */
async function assertAll(ctx: Context, type: Relation['to'], ids: readonly number[]): Promise<void> {
  const { table } = ctx.resources.of(type)
  const [counted] = await ctx.sql<{ found: number }>(
    { name: `count-${type}`, text: `select count(*)::int as found from ${table} where id = any($1::int[])` },
    [ids],
  )
  if (counted?.found !== ids.length)
    throw new Problem('not_found', { detail: `A resource of the type ${type} does not exist.` })
}
