import { statement } from '../sql/statement.ts'

/** Values: the provider's name, and for how many milliseconds. Selects whether it is new; nothing where there is no such provider. */
export const beginOutage = statement<{ isNew: boolean }>(
  'begin-outage',
  `insert into provider_outages as known (provider_id, until)
   select id, now() + $2::int * interval '1 ms' from ai_providers where provider_id = $1
   on conflict (provider_id) do update set until = greatest(known.until, excluded.until)
   returning known.xmax = 0 as "isNew"`,
)

/** Values: the provider's name. Selects a row where there was an outage; whoever checks the provider next deletes it. */
export const endOutage = statement<{ provider: string }>(
  'end-outage',
  `update provider_outages o set until = now() from ai_providers p
    where p.id = o.provider_id and p.provider_id = $1 returning p.provider_id as provider`,
)

export const listEndedOutages = statement<{ provider: string }>(
  'list-ended-outages',
  `select p.provider_id as provider from provider_outages o join ai_providers p on p.id = o.provider_id
    where o.until <= now()`,
)

/** Deletes those that have ended. Values: the names of the providers that were checked. */
export const deleteEndedOutages = statement<never>(
  'delete-ended-outages',
  `delete from provider_outages o using ai_providers p
    where p.id = o.provider_id and o.until <= now() and p.provider_id = any ($1::text[])`,
)

export const listOutages = statement<{ provider: string }>(
  'list-outages',
  'select p.provider_id as provider from provider_outages o join ai_providers p on p.id = o.provider_id',
)

/** Values: the provider's name. Selects those of its models that were not offline before. */
export const setModelsOffline = statement<{ id: number }>(
  'set-models-offline',
  `update ai_models m set status = 'offline', updated_at = now() from ai_providers p
    where p.id = m.provider_id and p.provider_id = $1 and m.active and m.status <> 'offline' returning m.id`,
)
