import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import { statement } from '../sql/statement.ts'
import type { ModelSettings, Pricing } from './ai-model.ts'

/** What a model cost since when: a version is added whenever its price changes, and none is ever changed. Outlives the model. */
export const ModelPrice = defineEntity({
  name: 'ModelPrice',
  tableName: 'model_prices',
  indexes: [{ properties: ['model', 'id'] }],
  properties: {
    id: p.integer().primary(),
    createdAt: moment().defaultRaw('now()'),
    /** The name that requests used. */
    model: p.string().length(200),
    /** Null where no price is known any more. */
    pricing: p.json<Pricing>().nullable(),
    /** When somebody last looked at the price list of the provider. */
    asOf: p.date().defaultRaw('current_date'),
  },
})

export interface CurrentPrice {
  modelId: string
  provider: string
  pricing: Pricing | null
  adapter: string
  /** What the provider itself can do for it, as its administrator says. */
  nativeCapabilities: string[]
  settings: ModelSettings | null
  /** The day of the price list. */
  asOf: string | null
}

/** The price in force of each model that is switched on. */
export const listCurrentPrices = statement<CurrentPrice>(
  'list-current-prices',
  `select m.model_id as "modelId", p.provider_id as provider, m.pricing, p.adapter, m.settings,
          to_json(m.native_capabilities) as "nativeCapabilities", to_char(v.as_of, 'YYYY-MM-DD') as "asOf"
     from ai_models m join ai_providers p on p.id = m.provider_id
     left join lateral (select as_of from model_prices where model = m.model_id order by id desc limit 1) v on true
    where m.active and p.active order by p.id, m.id`,
)

/** Values: a JSON list of models with their prices. Each new price becomes a version of its own. */
export const setPrices = statement<{ id: number; model: string; before: Pricing | null; after: Pricing }>(
  'set-prices',
  `update ai_models m set pricing = w.pricing, updated_at = now()
    from jsonb_to_recordset($1::jsonb) as w(model text, pricing jsonb) join ai_models o on o.model_id = w.model
   where m.id = o.id and m.pricing is distinct from w.pricing
   returning m.id, m.model_id as model, o.pricing as before, m.pricing as after`,
)

/** Values: the day of the price list, a JSON list of the models in it. */
export const confirmPrices = statement<{ model: string }>(
  'confirm-prices',
  `update model_prices v set as_of = $1::date
    from ai_models m join jsonb_to_recordset($2::jsonb) as w(model text) on w.model = m.model_id
   where v.id = (select max(id) from model_prices where model = m.model_id) returning v.model`,
)
