import { defineCommand } from 'citty'
import type { Api } from '../../routers/index.ts'
import { type CommandContext, json } from '../command-context.ts'
import { formatProperties } from '../output.ts'
import { checkCommand } from './knowledge-check.ts'
import { formatPrice, syncCommand } from './knowledge-sync.ts'

export const knowledgeCommand = (context: CommandContext) =>
  defineCommand({
    meta: { description: 'Manage the knowledge in whose files people search.' },
    subCommands: {
      index: indexCommand(context),
      rebuild: rebuildCommand(context),
      sync: syncCommand(context),
      check: checkCommand(context),
    },
  })

const indexCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description: 'Show by which embedding model knowledge is searched, and what is missing for that of the settings.',
    },
    args: { json },
    async run() {
      const record = await context.open(({ host }) => host.knowledge.index())
      context.print({ record, text: formatIndexes(record) })
    },
  })

const rebuildCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Embed all knowledge by the model of KNOWLEDGE_EMBEDDING_MODEL, after showing the price. The service does so while the previous vectors are searched, and then switches.',
    },
    args: { yes: { type: 'boolean', description: 'Begin without asking for confirmation.' }, json },
    async run({ args: { yes } }) {
      if (!yes) await confirmPrice(context)
      const record = await context.open(({ host }) => host.knowledge.rebuild())
      const text = `Planned files: ${record.planned}. \`svc knowledge index\` shows how far the service is.`
      context.print({ record, text })
    },
  })

async function confirmPrice({ prompts, open }: CommandContext): Promise<void> {
  prompts.requireTerminal('--yes')
  const indexes = await open(({ host }) => host.knowledge.index())
  prompts.show(formatIndexes(indexes))
  await prompts.requireConsent('--yes', 'Embed what is missing?')
}

type Indexes = Awaited<ReturnType<Api['knowledge']['index']>>

function formatIndexes({ wanted, active, building, price }: Indexes): string {
  return formatProperties({
    wanted: formatModel(wanted) ?? 'none, so knowledge is searched by words alone',
    searched: formatModel(active) ?? 'none',
    ...active?.files,
    ...(building && { building: formatModel(building), 'built files': building.files.whole }),
    ...(building && { 'files to build': building.files.pending + building.files.missing }),
    ...(price && {
      'files to embed': price.files,
      passages: price.passages,
      'estimated tokens': price.tokens,
      'estimated price': formatPrice(price),
    }),
  })
}

const formatModel = (index: { model: string; dimensions: number | null } | null) =>
  index && (index.dimensions === null ? index.model : `${index.model}, ${index.dimensions} dimensions`)
