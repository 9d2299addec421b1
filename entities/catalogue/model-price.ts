import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { statement } from '../sql/statement.ts'
import type { ModelSettings, Pricing } from './ai-model.ts'

/** A version of a model's price; every change adds one. Versions never change, and outlive the model. */
export const ModelPrice = defineEntity({
  name: 'ModelPrice',
  tableName: 'model_prices',
  indexes: [{ properties: ['model', 'id'] }],
  properties: {
    id: p.integer().primary(),
    createdAt: moment().defaultRaw('now()'),
    /** The name that requests used. */
    model: p.string().length(200),
    /** Null if no price is known any more. */
    pricing: p.json<Pricing>().nullable(),
    /** Day of the last check against the provider's price list. */
    asOf: p.date().defaultRaw('current_date'),
  },
})

export interface CurrentPrice {
  modelId: string
  provider: string
  pricing: Pricing | null
  adapter: string
  /** Capabilities of the provider itself, set by its administrator. */
  nativeCapabilities: string[]
  settings: ModelSettings | null
  /** The day of the price list. */
  asOf: string | null
}

/** Lists the current prices of active models. */
export const listCurrentPrices = statement<CurrentPrice>(
  'list-current-prices',
  `select m.model_id as "modelId", p.provider_id as provider, m.pricing, p.adapter, m.settings,
          to_json(m.native_capabilities) as "nativeCapabilities", to_char(v.as_of, 'YYYY-MM-DD') as "asOf"
     from ai_models m join ai_providers p on p.id = m.provider_id
     left join lateral (select as_of from model_prices where model = m.model_id order by id desc limit 1) v on true
    where m.active and p.active order by p.id, m.id`,
)

/** Sets prices; `keepPriceTrigger` adds a version for each change. Values: a JSON list of models with their prices. */
export const setPrices = statement<{ id: number; model: string; before: Pricing | null; after: Pricing }>(
  'set-prices',
  `update ai_models m set pricing = w.pricing, updated_at = now()
    from jsonb_to_recordset($1::jsonb) as w(model text, pricing jsonb) join ai_models o on o.model_id = w.model
   where m.id = o.id and m.pricing is distinct from w.pricing
   returning m.id, m.model_id as model, o.pricing as before, m.pricing as after`,
)

/** Confirms prices. Values: the day of the price list, and a JSON list of its models. */
export const confirmPrices = statement<{ model: string }>(
  'confirm-prices',
  `update model_prices v set as_of = $1::date
    from ai_models m join jsonb_to_recordset($2::jsonb) as w(model text) on w.model = m.model_id
   where v.id = (select max(id) from model_prices where model = m.model_id) returning v.model`,
)
