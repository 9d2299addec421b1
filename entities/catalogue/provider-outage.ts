import { defineEntity, p } from '@mikro-orm/core'
import { moment } from '../sql/columns.ts'
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
