import { z } from 'zod'
import { beginOutage, endOutage, listOutages, setModelsOffline } from '../../entities/catalogue/provider-outage.sql.ts'
import { locks, waitForTurn } from '../../entities/sql/locks.ts'
import { changing } from '../core/changes.ts'
import type { Context } from '../core/context.ts'
import { runNamed } from '../core/run-named.ts'
import { host } from '../core/trpc.ts'
import { timeLimitMs } from '../ports/duration.ts'
import { checkModels } from './model-checks.ts'

const provider = z.string().max(120)

/** How long the first in a row lasts beyond the time after which the provider is tried again: where people go on asking, it goes on unbroken. */
const GRACE_MS = 60_000

/** How long one of many in a row lasts: each that a provider's list ends, and its next call begins anew, is told to everybody. */
const LONGEST_MS = 15 * 60_000

/** What replicas do about a provider that they cannot ask, so that all of them show it, and none shows it for ever. */
export const outageProcedures = {
  /**
   * Sets the models of a provider offline. `retryAfter`: after how many milliseconds it is tried again. `isAgain`: the replica
   * has told of it and tried in vain, which says nothing where another one has had an answer meanwhile.
   */
  beginOutage: host
    .input(z.strictObject({ provider, retryAfter: timeLimitMs, isAgain: z.boolean().default(false) }))
    .mutation(async ({ ctx, input: { provider, retryAfter, isAgain } }) => {
      const first = retryAfter + Math.min(retryAfter, GRACE_MS)
      const changed = await changing(ctx, async (em, changes) => {
        await em.execute(waitForTurn, [locks.modelStatus])
        const longest = Math.max(first, LONGEST_MS)
        const [outage] = await runNamed(em, beginOutage, [provider, first, longest, isAgain])
        if (!outage) return []
        const changed = await runNamed(em, setModelsOffline, [provider])
        for (const { id } of changed) changes.add(['all'], 'updated', 'ai-models', id)
        return changed
      })
      if (changed.length > 0)
        ctx.services.log.warn({ provider }, 'the models of an AI provider are offline: its calls failed')
    }),

  /** A call was answered again: the models are what a check says. */
  endOutage: host.input(z.strictObject({ provider })).mutation(async ({ ctx, input: { provider } }) => {
    const [outage] = await ctx.services.sql(endOutage, [provider])
    if (outage) await checkAfter(ctx, [provider])
  }),

  /** Checks the providers whose outage is over, of whichever replica it was; the others go on until one of them answers. */
  checkOutages: host.mutation(async ({ ctx }) => {
    const outages = await ctx.services.sql(listOutages)
    ctx.services.models.noteOutages(outages.map(({ provider }) => provider))
    const ended = outages.flatMap(({ provider, isDue }) => (isDue ? provider : []))
    if (ended.length > 0) await checkAfter(ctx, ended)
  }),
}

async function checkAfter(ctx: Context, providers: readonly string[]): Promise<void> {
  const checks = await checkModels(ctx, providers)
  ctx.services.log.info({ providers, models: checks.length }, 'the models of AI providers were checked after an outage')
}
