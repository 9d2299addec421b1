import { z } from 'zod'
import type { Context } from '../core/context.ts'
import type { ModelFlag } from '../core/extension.ts'
import { router } from '../core/trpc.ts'
import { attribute, defineResource } from '../resource/declare.ts'
import type { RecordOf } from '../resource/record.ts'
import { defineComputedReads } from '../verbs/computed.ts'

export const aiModelFlags = defineResource({
  type: 'ai-model-flags',
  about: 'Properties that a model can have, with the labels to show for them.',
  attributes: {
    titleLabel: attribute(z.string().nullable().describe('The key of the name in `translation-labels`.')),
    descriptionLabel: attribute(z.string().nullable().describe('The key of the explanation in `translation-labels`.')),
    colorCode: attribute(
      z.string().describe('`@default`, `@success`, `@warning`, `@error`, `@highlight`, or a colour.'),
    ),
  },
})

const builtIn = [
  'open-weights',
  'eco-friendly',
  'self-hosted',
  'multi-modal',
  'strength-creative-writing',
  'strength-code-generation',
  'strength-math',
  'strength-role-playing',
  'strength-reasoning',
].map((key): ModelFlag => {
  const label = `ai.model.detail.flag.${camelCase(key)}`
  return {
    key,
    titleLabel: label,
    descriptionLabel: `${label}Tooltip`,
    colorCode: key === 'eco-friendly' ? '@success' : '@default',
  }
})

export function camelCase(key: string): string {
  return key.replace(/[-_]([a-z])/g, (_, letter: string) => letter.toUpperCase())
}

export const allModelFlags = ({ services }: Context): RecordOf<typeof aiModelFlags>[] =>
  [...builtIn, ...services.process.extensions.modelFlags].map(({ key, ...flag }) => ({ id: key, ...flag }))

export const aiModelFlagsRouter = router(defineComputedReads(aiModelFlags, allModelFlags))
