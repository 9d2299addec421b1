import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { statement } from '../sql/statement.ts'
import { AiProvider } from './ai-provider.ts'

/** A provider that all replicas avoid, because one of them opened its circuit breaker. */
export const ProviderOutage = defineEntity({
  name: 'ProviderOutage',
  tableName: 'provider_outages',
  properties: {
    provider: () => p.oneToOne(AiProvider).primary().deleteRule('cascade').ref(),
    /** Time when it ends on its own, in case the reporting replica is gone. */
    until: moment(),
    /** Number of outages in a row, each longer than the last. A successful call resets it to 0. */
    streak: p.integer().default(1),
    /** True if the time is up and the provider was checked; the row is kept, so that the next outage lasts longer. */
    isOver: p.boolean().default(false),
  },
})

/** SQL for the number of outages in a row; bounded, because the duration grows as a power of two. */
const streak = `case when known.until < now() - $3::int * interval '1 ms' then 1
  else least(greatest(known.streak + known.is_over::int, 1), 20) end`

/**
 * Starts or prolongs an outage; selects a row unless a call has succeeded since. Values: the provider's name, the
 * duration of the first outage in a row and the maximum in milliseconds, and whether the replica has already reported
 * this one.
 */
export const beginOutage = statement<{ provider: number }>(
  'begin-outage',
  `insert into provider_outages as known (provider_id, until)
   select id, now() + $2::int * interval '1 ms' from ai_providers where provider_id = $1
   on conflict (provider_id) do update set is_over = false, streak = ${streak},
     until = greatest(known.until, now() + least($2::int * 2 ^ (${streak} - 1), $3::int) * interval '1 ms')
     where known.streak > 0 or not $4::boolean
   returning known.provider_id as provider`,
)

/**
 * Ends an outage after a successful call; selects a row if one was recorded. The next check of the provider closes it.
 * Values: the provider's name.
 */
export const endOutage = statement<{ provider: string }>(
  'end-outage',
  // Use the past: the check follows at once, and the current time may be rounded up.
  `update provider_outages o set until = '-infinity', streak = 0, is_over = false from ai_providers p
    where p.id = o.provider_id and p.provider_id = $1 and o.streak > 0 returning p.provider_id as provider`,
)

/** Closes ended outages. Values: the names of the checked providers. */
export const closeEndedOutages = statement<never>(
  'close-ended-outages',
  `update provider_outages o set is_over = true from ai_providers p
    where not o.is_over and p.id = o.provider_id and o.until <= now() and p.provider_id = any ($1::text[])`,
)

/**
 * Lists outages without a successful call since. `isDue`: the time is up and the provider was not checked yet;
 * `isOver`: it was checked.
 */
export const listOutages = statement<{ provider: string; isDue: boolean; isOver: boolean }>(
  'list-outages',
  `select p.provider_id as provider, not o.is_over and o.until <= now() as "isDue", o.is_over as "isOver"
    from provider_outages o join ai_providers p on p.id = o.provider_id
    where not o.is_over or o.streak > 0`,
)

/** Sets the provider's models offline; selects those that were not. Values: the provider's name. */
export const setModelsOffline = statement<{ id: number }>(
  'set-models-offline',
  `update ai_models m set status = 'offline', updated_at = now() from ai_providers p
    where p.id = m.provider_id and p.provider_id = $1 and m.active and m.status <> 'offline' returning m.id`,
)
