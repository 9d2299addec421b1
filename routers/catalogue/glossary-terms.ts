import { z } from 'zod'
import { activeTerms, GlossaryTerm } from '../../entities/catalogue/glossary-term.ts'
import { router } from '../core/trpc.ts'
import { attribute, cataloguePage, resource, timestamps } from '../resource/declare.ts'
import { reads } from '../verbs/read.ts'
import { writes } from '../verbs/write.ts'
import { text } from './schemas.ts'

export const glossaryTerms = resource({
  type: 'glossary-terms',
  about: 'Words that people of the house use, with their meaning.',
  entity: GlossaryTerm,
  coalesced: true,
  scope: activeTerms,
  attributes: {
    term: attribute(text(80).describe('The word, unique.'), { write: true, sort: true }),
    meaning: attribute(text(2000).describe('What it means.'), { write: true }),
    active: attribute(z.boolean().describe('Whether people see it.'), { write: true, default: true, only: 'admin' }),
    ...timestamps,
  },
  page: cataloguePage,
})

export const glossaryTermsRouter = router({ ...reads(glossaryTerms), ...writes(glossaryTerms) })
