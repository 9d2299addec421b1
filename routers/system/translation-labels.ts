import { z } from 'zod'
import { Problem } from '../core/problems.ts'
import { anyone, router } from '../core/trpc.ts'
import { matchLocale } from '../ports/locales.ts'
import { attribute, defineResource } from '../resource/declare.ts'
import { exposeAs } from '../resource/exposure.ts'
import type { RecordOf } from '../resource/record.ts'

export const translationLabels = defineResource({
  type: 'translation-labels',
  about: 'All texts of one language. The id is its locale.',
  attributes: {
    locale: attribute(z.string().describe('The language tag for pages, such as `en-US`.')),
    labels: attribute(z.record(z.string(), z.string()).describe('The texts by dotted key.')),
  },
})

export const translationLabelsRouter = router({
  get: anyone
    .meta(exposeAs(translationLabels, 'get'))
    .input(z.strictObject({ id: z.string().max(20) }))
    .query(({ ctx, input }): RecordOf<typeof translationLabels> => {
      const id = matchLocale(input.id)
      if (!id) throw new Problem('not_found', { detail: `There are no texts for the locale ${input.id}.` })
      return { id, locale: id.replace('_', '-'), labels: { ...ctx.services.texts.labels[id] } }
    }),
})
