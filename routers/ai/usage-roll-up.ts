import { lockUsageRecords, oldestUsageDay, rollUpPartition, rollUpUsage } from '../../entities/ai/usage-report.sql.ts'
import { dayOf, dropPartition, listPartitions, waitBriefly } from '../../entities/sql/day-partitions.ts'
import { locks, waitForTurn } from '../../entities/sql/locks.ts'
import type { Context } from '../core/context.ts'

/** Keeps only sums of days before this one, in UTC; says of how many. Several replicas may do so at once. */
export const rollUp = async (ctx: Context, before: string) =>
  (await rollUpPartitions(ctx, before)) + (await rollUpOthers(ctx, before))

/** Of days that have a partition, which goes as a whole. */
async function rollUpPartitions(ctx: Context, before: string): Promise<number> {
  let days = 0
  for (const { name } of await ctx.services.sql(listPartitions, ['usage_records'])) {
    const day = dayOf(name)
    if (day && day < before && (await replaceBySums(ctx, name))) days += 1
  }
  return days
}

/** In one transaction, so that no call is ever in both or in neither. */
function replaceBySums(ctx: Context, partition: string): Promise<boolean> {
  return ctx.em().transactional(async (em) => {
    await em.execute(waitForTurn, [locks.keepPartitions])
    await em.execute(waitBriefly)
    const [{ isGone }] = await em.execute<[{ isGone: boolean }]>('select to_regclass(?) is null as "isGone"', [
      partition,
    ])
    if (isGone) return false
    await em.execute(lockUsageRecords)
    await em.execute(rollUpPartition(partition))
    await em.execute(dropPartition(partition))
    return true
  })
}

async function rollUpOthers({ services }: Context, before: string): Promise<number> {
  for (let days = 0; ; days++) {
    const [oldest] = await services.sql(oldestUsageDay, [before])
    if (!oldest) return days
    await services.sql(rollUpUsage, [oldest.day])
  }
}
