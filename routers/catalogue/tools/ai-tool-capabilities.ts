import { z } from 'zod'
import type { Context } from '../../core/context.ts'
import type { ToolCapability } from '../../core/extension.ts'
import { router } from '../../core/trpc.ts'
import { attribute, defineResource } from '../../resource/declare.ts'
import type { RecordOf } from '../../resource/record.ts'
import { defineComputedReads } from '../../verbs/computed.ts'
import { camelCase } from '../ai-model-flags.ts'

export const aiToolCapabilities = defineResource({
  type: 'ai-tool-capabilities',
  about: 'The purposes that a tool can have, with the labels and the icon to show for them.',
  attributes: {
    titleLabel: attribute(z.string().nullable().describe('The key of the name in `translation-labels`.')),
    descriptionLabel: attribute(z.string().nullable().describe('The key of the explanation in `translation-labels`.')),
    iconPath: attribute(z.string().nullable().describe('The icon as a data URL.')),
  },
})

/** Paths of icons of 24 by 24. */
const icons: Record<string, string> = {
  web_search: 'M11 4a7 7 0 1 0 0 14a7 7 0 0 0 0-14M16 16l5 5',
  web_fetch: 'M12 3v12M7 10l5 5l5-5M4 20h16',
  knowledge_base: 'M5 4h11a3 3 0 0 1 3 3v13H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11',
}

const builtIn = Object.entries(icons).map(([key, lines]): ToolCapability => {
  const label = `chat.composer.toolMenu.tools.${camelCase(key)}`
  return { key, titleLabel: label, descriptionLabel: `${label}Description`, iconPath: drawIcon(lines) }
})

function drawIcon(lines: string): string {
  const drawing = `<path d="${lines}" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round"/>`
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 24 24">${drawing}</svg>`
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`
}

export const allToolCapabilities = ({ services }: Context): RecordOf<typeof aiToolCapabilities>[] =>
  [...builtIn, ...services.process.extensions.toolCapabilities].map(({ key, ...capability }) => ({
    id: key,
    ...capability,
  }))

export const aiToolCapabilitiesRouter = router(defineComputedReads(aiToolCapabilities, allToolCapabilities))
