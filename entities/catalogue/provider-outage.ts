import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { statement } from '../sql/statement.ts'
import { AiProvider } from './ai-provider.ts'

/** A provider that no replica is to count on: its calls failed until one stopped asking it. */
export const ProviderOutage = defineEntity({
  name: 'ProviderOutage',
  tableName: 'provider_outages',
  properties: {
    provider: () => p.oneToOne(AiProvider).primary().deleteRule('cascade').ref(),
    /** When it ends by itself, should nobody tell of it again: the replica that noticed may be gone by then. */
    until: moment(),
    /** How many there were in a row, with this one: each lasts longer. A call that is answered makes it 0. */
    streak: p.integer().default(1),
    /** Whether its time is up and the provider was checked: the row is kept for the next one, which lasts longer. */
    isOver: p.boolean().default(false),
  },
})

/** Of an outage that begins or goes on, after one that was not long ago. Bounded, as a power of two is made of it. */
const streak = `case when known.until < now() - $3::int * interval '1 ms' then 1
  else least(greatest(known.streak + known.is_over::int, 1), 20) end`

/**
 * Values: the provider's name, for how many milliseconds the first in a row lasts, for how many one lasts at most, and whether
 * the replica has told of this one before. Selects a row, but where a call was answered since then.
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

/** Values: the provider's name. Selects a row where no call was answered since an outage, which the next check of the provider ends. */
export const endOutage = statement<{ provider: string }>(
  'end-outage',
  // The check comes at once, and the present is stored rounded, maybe into the future.
  `update provider_outages o set until = '-infinity', streak = 0, is_over = false from ai_providers p
    where p.id = o.provider_id and p.provider_id = $1 and o.streak > 0 returning p.provider_id as provider`,
)

/** Values: the names of the providers that were checked. */
export const closeEndedOutages = statement<never>(
  'close-ended-outages',
  `update provider_outages o set is_over = true from ai_providers p
    where not o.is_over and p.id = o.provider_id and o.until <= now() and p.provider_id = any ($1::text[])`,
)

/**
 * Those after which no call was answered. `isDue` where the time is up, and nobody has checked the provider since; `isOver` where
 * somebody has.
 */
export const listOutages = statement<{ provider: string; isDue: boolean; isOver: boolean }>(
  'list-outages',
  `select p.provider_id as provider, not o.is_over and o.until <= now() as "isDue", o.is_over as "isOver"
    from provider_outages o join ai_providers p on p.id = o.provider_id
    where not o.is_over or o.streak > 0`,
)

/** Values: the provider's name. Selects those of its models that were not offline before. */
export const setModelsOffline = statement<{ id: number }>(
  'set-models-offline',
  `update ai_models m set status = 'offline', updated_at = now() from ai_providers p
    where p.id = m.provider_id and p.provider_id = $1 and m.active and m.status <> 'offline' returning m.id`,
)
