import { defineEntity, p } from '@mikro-orm/core'
import { id, timestamps } from '../sql/columns.ts'
import { everyRowForAdmins } from '../sql/scope.ts'

/** A word that people of the house use, with its meaning. */
export const GlossaryTerm = defineEntity({
  name: 'GlossaryTerm',
  tableName: 'glossary_terms',
  properties: {
    id,
    ...timestamps,
    term: p.string().length(80).unique(),
    meaning: p.text(),
    active: p.boolean().default(true),
  },
})

export const activeTerms = everyRowForAdmins((term) => `${term}.active`)
