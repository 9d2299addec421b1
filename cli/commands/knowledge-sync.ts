import { resolve } from 'node:path'
import { join } from 'node:path/posix'
import { defineCommand } from 'citty'
import { handle } from '../../routers/assistants/content.ts'
import type { SourceComparison } from '../../routers/assistants/knowledge/compare-files.ts'
import { Problem } from '../../routers/core/problems.ts'
import type { CoreService } from '../../server/core.ts'
import { type CommandContext, json } from '../command-context.ts'
import { parseFlag } from '../flag-values.ts'
import { formatProperties } from '../output.ts'
import { createSkipTest, readSourceFolder, type SkippedEntry, withFile } from '../source-folder.ts'

const args = {
  folder: { type: 'positional', description: 'The folder.', required: true },
  assistant: {
    type: 'string',
    required: true,
    description: 'The handle of the assistant that answers with the knowledge.',
  },
  keep: { type: 'boolean', description: 'Keep files of the knowledge that the folder does not have.' },
  'dry-run': { type: 'boolean', description: 'Show what would be uploaded and removed, and do nothing.' },
  yes: { type: 'boolean', description: 'Begin without asking for confirmation.' },
  json,
} as const

export const syncCommand = (context: CommandContext) =>
  defineCommand({
    meta: {
      description:
        'Bring the knowledge of an assistant into line with a folder: upload what is new or changed, and remove what is gone. Its owner pays for the vectors.',
    },
    args,
    async run({ args: { folder, assistant: name, keep = false, yes, 'dry-run': isDryRun } }) {
      const { prompts } = context
      const assistant = parseFlag(handle, name, '--assistant')
      if (!yes && !isDryRun) prompts.requireTerminal('--yes')
      const source = resolve(folder)
      const plan = await context.open((core) => planSync(core, { folder: source, handle: assistant, keep }))
      const isNothing = plan.added.length + plan.changed.length + plan.removed.length === 0
      if (isDryRun || isNothing) return printOutcome(context, plan, notStarted)
      if (!yes) {
        prompts.show(formatPlan(plan))
        await prompts.requireConsent('--yes', 'Upload and remove these files?')
      }
      const outcome = await context.open((core) => applyPlan(core, plan, { folder: source, handle: assistant }))
      printOutcome(context, plan, outcome)
      context.hasFailed = outcome.refused.length > 0
    },
  })

interface SyncPlan {
  knowledge: Pick<SourceComparison['knowledge'], 'id' | 'name' | 'owner'>
  /** Paths. */
  added: string[]
  changed: string[]
  removed: string[]
  unchanged: number
  skipped: SkippedEntry[]
  price: SourceComparison['price']
  /** Bytes of the files to upload. */
  bytes: number
  /** Ids of all versions of the files to remove. */
  removedIds: number[]
}

interface SyncOptions {
  folder: string
  handle: string
  keep: boolean
}

async function planSync({ services, host }: CoreService, { folder, handle, keep }: SyncOptions): Promise<SyncPlan> {
  const { settings, files: fileServices } = services
  // Reading all files may take long, so an assistant without knowledge is refused before.
  await host.knowledge.compareSource({ handle, files: [] })
  const { files, skipped } = await readSourceFolder(folder, {
    files: settings.public.files,
    canRead: (mime) => fileServices.textExtractor.canRead(mime),
    maxEntries: settings.knowledge.filesPerPerson,
  })
  const comparison = await host.knowledge.compareSource({ handle, files })
  const { id, name, owner } = comparison.knowledge
  const listPaths = (state: string) => comparison.files.flatMap((file) => (file.state === state ? [file.path] : []))
  const [added, changed] = [listPaths('new'), listPaths('changed')]
  const unreadable = comparison.files.flatMap(({ path, explanation }) =>
    explanation === null ? [] : [{ path, reason: explanation }],
  )
  const isSkipped = createSkipTest(skipped)
  const gone = keep ? [] : comparison.surplus.filter(({ path }) => !isSkipped(path))
  if (gone.length > 0 && files.length === 0)
    throw new Error(
      `${folder} has no file that the service reads, so nothing is removed. Delete the knowledge instead.`,
    )
  const uploaded = new Set([...added, ...changed])
  return {
    knowledge: { id, name, owner },
    added,
    changed,
    removed: gone.map(({ path }) => path),
    unchanged: listPaths('equal').length,
    skipped: [...skipped, ...unreadable],
    price: uploaded.size > 0 ? comparison.price : null,
    bytes: files.reduce((sum, { path, bytes }) => sum + (uploaded.has(path) ? bytes : 0), 0),
    removedIds: gone.flatMap(({ ids }) => ids),
  }
}

interface SyncOutcome {
  uploaded: number
  removed: number
  /** Files that the service did not take. */
  refused: SkippedEntry[]
}

const notStarted: SyncOutcome = { uploaded: 0, removed: 0, refused: [] }

/** Removes files first, so that there is room for others. */
async function applyPlan(
  { host, hostWithFile }: CoreService,
  { added, changed, removed, removedIds }: SyncPlan,
  { folder, handle }: Pick<SyncOptions, 'folder' | 'handle'>,
): Promise<SyncOutcome> {
  if (removedIds.length > 0) await host.knowledge.deleteFilesFor({ handle, files: removedIds })
  const refused: SkippedEntry[] = []
  const paths = [...added, ...changed]
  for (const path of paths) {
    const upload = withFile(join(folder, path), (file) => hostWithFile(file).knowledge.uploadFor({ handle, path }))
    await upload.catch((error: Error) => {
      // A file may change or vanish meanwhile; other failures end the command.
      if (!(error instanceof Problem) && !('code' in error)) throw error
      refused.push({ path, reason: error.message })
    })
  }
  return { uploaded: paths.length - refused.length, removed: removed.length, refused }
}

function printOutcome(context: CommandContext, plan: SyncPlan, outcome: SyncOutcome): void {
  const { removedIds: _, bytes: __, ...shown } = plan
  const { refused } = outcome
  const isDone = outcome !== notStarted
  const done = [
    formatProperties({ uploaded: outcome.uploaded, removed: outcome.removed, unchanged: plan.unchanged }),
    ...listEntries('Refused', refused),
    ...listEntries('Left out', plan.skipped),
    ...(outcome.uploaded > 0
      ? ['The service reads what was uploaded; until then the earlier version of a file is searched.']
      : []),
  ]
  context.print({
    record: { ...shown, done: isDone ? { uploaded: outcome.uploaded, removed: outcome.removed, refused } : null },
    text: isDone ? done.join('\n\n') : formatPlan(plan),
  })
}

/** Names of each kind that are shown to people. */
const MAX_SHOWN = 20

function formatPlan({ knowledge, added, changed, removed, unchanged, skipped, price, bytes }: SyncPlan): string {
  const head = formatProperties({
    knowledge: knowledge.name,
    owner: knowledge.owner,
    new: added.length,
    changed: changed.length,
    gone: removed.length,
    unchanged,
    'left out': skipped.length,
    'bytes to upload': bytes,
    ...(price && { 'estimated tokens': price.tokens, 'estimated price': formatPrice(price) }),
    ...(price && price.unknownFiles > 0 && { 'files of unknown price': price.unknownFiles }),
  })
  const lists: [string, string[]][] = [
    ['New', added],
    ['Changed', changed],
    ['Gone, to be removed', removed],
  ]
  const parts = lists.flatMap(([title, paths]) => listNames(title, paths))
  return [head, ...parts, ...listEntries('Left out', skipped)].join('\n\n')
}

const listEntries = (title: string, entries: readonly SkippedEntry[]): string[] =>
  listNames(
    title,
    entries.map(({ path, reason }) => `${path}: ${reason}`),
  )

function listNames(title: string, names: readonly string[]): string[] {
  if (names.length === 0) return []
  const shown = names.slice(0, MAX_SHOWN).map((name) => `  ${name.replaceAll(/\p{Cc}/gu, '\uFFFD')}`)
  const rest = names.length > MAX_SHOWN ? [`  and ${names.length - MAX_SHOWN} more`] : []
  return [[`${title}:`, ...shown, ...rest].join('\n')]
}

const MICROS = 1_000_000

/** Formats an estimated price; `costMicros` is null if the model has none. */
export const formatPrice = ({ costMicros, currency }: { costMicros: number | null; currency: string | null }) =>
  costMicros === null
    ? 'unknown, as the model has no price'
    : `${(costMicros / MICROS).toFixed(4)} ${currency ?? ''}`.trim()
