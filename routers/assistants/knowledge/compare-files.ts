import { z } from 'zod'
import {
  findKnowledgeOfAssistant,
  findNewestFiles,
  type KnowledgeOfAssistant,
  listKnowledgePaths,
  type NewestFile,
} from '../../../entities/assistants/knowledge-sync.sql.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { estimateUpload, type UploadEstimate } from './embedding-price.ts'
import { explainState } from './explain-state.ts'
import { assertOwn } from './own-knowledge.ts'
import { computeFingerprints, filePath } from './upload.ts'

/** Files that are looked up by one statement. */
const BATCH_SIZE = 1000

const DIGEST = /^[0-9a-f]{64}$/

/** A file of a source, such as a folder, that knowledge is to have. */
export const sourceFile = z.strictObject({
  path: filePath,
  sha256: z
    .string()
    .regex(DIGEST, 'must have 64 lower-case hexadecimal digits')
    .describe('The SHA-256 of the bytes in hexadecimal digits.'),
})
export type SourceFile = z.output<typeof sourceFile>

export interface ComparedFile {
  path: string
  /** `unreadable` if the knowledge has these bytes and could not read them; `changed` if it has others at the path. */
  state: 'new' | 'changed' | 'equal' | 'unreadable'
  /** Says why the bytes are unreadable; null for the other states. */
  explanation: string | null
}

/** Compares files with those of a person's own knowledge. */
export async function compareOwnFiles(
  ctx: Context,
  owner: number,
  { id, files }: { id: number; files: readonly SourceFile[] },
): Promise<ComparedFile[]> {
  await assertOwn(ctx, owner, id)
  return compareFiles(ctx, id, files)
}

async function compareFiles(ctx: Context, id: number, files: readonly SourceFile[]): Promise<ComparedFile[]> {
  const { sql, vault } = ctx.services
  const compared: ComparedFile[] = []
  for (let at = 0; at < files.length; at += BATCH_SIZE) {
    const batch = files.slice(at, at + BATCH_SIZE)
    const rows = await sql(findNewestFiles, [id, batch.map(({ path }) => path)])
    const newest = new Map(rows.map((row) => [row.path, row]))
    for (const { path, sha256 } of batch) {
      const file = newest.get(path)
      const isEqual = file !== undefined && computeFingerprints(vault, sha256).includes(file.fingerprint)
      compared.push({ path, ...compareVersion(file, isEqual) })
    }
  }
  return compared
}

/** Failures after which the same bytes may be read the next time. */
const passing: readonly NewestFile['failure'][] = ['not-read', 'full']

function compareVersion(file: NewestFile | undefined, isEqual: boolean): Pick<ComparedFile, 'state' | 'explanation'> {
  if (!file) return { state: 'new', explanation: null }
  if (!isEqual || passing.includes(file.failure)) return { state: 'changed', explanation: null }
  if (file.failure === null) return { state: 'equal', explanation: null }
  return { state: 'unreadable', explanation: explainState({ ...file, truncated: false, embedding: null }) }
}

/** A file of a source with what tells the price of reading it. */
export const measuredFile = sourceFile.extend({ bytes: z.int().min(0), mime: z.string().max(127) })
export type MeasuredFile = z.output<typeof measuredFile>

export interface SourceComparison {
  knowledge: KnowledgeOfAssistant
  /** In the order of the source. */
  files: ComparedFile[]
  /** Files of the knowledge that the source does not have, with the ids of all their versions. */
  surplus: { path: string; ids: number[] }[]
  /** The price of the vectors of new and changed files; null if there is no embedding model. */
  price: UploadEstimate | null
}

/** Compares a source with the knowledge of an assistant, whoever owns it. */
export async function compareSource(
  ctx: Context,
  { handle, files }: { handle: string; files: readonly MeasuredFile[] },
): Promise<SourceComparison> {
  const knowledge = await findKnowledge(ctx, handle)
  const compared = await compareFiles(ctx, knowledge.id, files)
  const paths = new Set(files.map(({ path }) => path))
  const rows = await ctx.services.sql(listKnowledgePaths, [knowledge.id])
  const gone = Map.groupBy(
    rows.filter(({ path }) => !paths.has(path)),
    ({ path }) => path,
  )
  const surplus = [...gone].map(([path, versions]) => ({ path, ids: versions.map(({ id }) => id) }))
  const uploaded = files.filter((_, at) => ['new', 'changed'].includes(compared[at]?.state ?? ''))
  return { knowledge, files: compared, surplus, price: await estimateUpload(ctx, uploaded) }
}

/** Finds the knowledge of an assistant; throws a sentence that says what is missing. */
export async function findKnowledge(ctx: Context, handle: string): Promise<KnowledgeOfAssistant> {
  const [found] = await ctx.services.sql(findKnowledgeOfAssistant, [handle])
  if (!found) throw new Problem('not_found', { detail: 'There is no such assistant.' })
  if (found.knowledge) return found.knowledge
  const detail = `The assistant '${handle}' has no knowledge. Its owner or an editor chooses one on its page.`
  throw new Problem('conflict', { detail })
}
