import { listTokenRatios } from '../../../entities/assistants/knowledge-sync.sql.ts'
import type { Context } from '../../core/context.ts'
import { estimateCost } from './index-exchange.ts'

/** Tokens for each byte of a text, where none of its kind was read yet. */
const TOKENS_PER_BYTE = 1 / 4

/** Tokens of a passage, of which an embedding model gets several in a request. */
const TOKENS_PER_PASSAGE = 300

/** The estimated price of embedding files that are not read yet. */
export interface UploadEstimate {
  /** Estimated by the size of the files, and by those of the same kind that were read before. */
  tokens: number
  /** Files of a kind of which none was read yet, so that their tokens are unknown. */
  unknownFiles: number
  /** Millionths of the currency; null if the model has no price. */
  costMicros: number | null
  currency: string | null
}

/** Estimates what the vectors of files cost; null without an embedding model. */
export async function estimateUpload(
  ctx: Context,
  files: readonly { bytes: number; mime: string }[],
): Promise<UploadEstimate | null> {
  const { settings, sql } = ctx.services
  const { embedding, charactersPerFile } = settings.knowledge
  if (!embedding) return null
  const ratios = new Map((await sql(listTokenRatios)).map(({ mime, ratio }) => [mime, ratio]))
  const most = charactersPerFile * TOKENS_PER_BYTE
  const counts = files.map(({ bytes, mime }) => {
    const ratio = ratios.get(mime) ?? (mime.startsWith('text/') ? TOKENS_PER_BYTE : undefined)
    return ratio === undefined ? undefined : Math.min(most, bytes * ratio)
  })
  const known = counts.filter((count) => count !== undefined)
  const tokens = Math.ceil(known.reduce((sum, count) => sum + count, 0))
  const passages = Math.ceil(tokens / TOKENS_PER_PASSAGE)
  const cost = await estimateCost(ctx, embedding.model, { files: known.length, passages, tokens })
  return { unknownFiles: files.length - known.length, ...cost }
}
