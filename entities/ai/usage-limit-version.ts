import { defineEntity, p } from '@mikro-orm/core'

/** One row whose number rises with each change of a limit, so that every process sees that those it knows are old. */
export const UsageLimitVersion = defineEntity({
  name: 'UsageLimitVersion',
  tableName: 'usage_limit_versions',
  properties: {
    id: p.integer().primary(),
    version: p.integer(),
  },
})
