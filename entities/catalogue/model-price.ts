import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
import type { Pricing } from './ai-model.ts'

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
