import { listTokenRatios } from '../../../entities/assistants/knowledge-sync.sql.ts'
import { findTokenRatio, sumMissing } from '../../../entities/assistants/knowledge-vectors.sql.ts'
import { computeCost } from '../../catalogue/pricing.ts'
import type { Context } from '../../core/context.ts'

/** The estimated price of embedding texts. */
interface EmbeddingPrice {
  /** Estimated by how the provider counted the tokens of earlier bills. */
  tokens: number
  /** Millionths of the currency; null if the model has no price. */
  costMicros: number | null
  currency: string | null
}

/** The price of a rebuild, and the texts that it would embed. */
export interface RebuildPrice extends EmbeddingPrice {
  files: number
  passages: number
}

/** Estimates what the vectors cost that an index has not, or all vectors without an index; null if none is missing. */
export async function estimateRebuild(
  ctx: Context,
  model: string,
  indexId: number | null,
): Promise<RebuildPrice | null> {
  const [missing = { files: 0, passages: 0, tokens: 0 }] = await ctx.services.sql(sumMissing, [indexId])
  if (missing.files === 0) return null
  return { ...missing, ...(await estimatePrice(ctx, model, missing)) }
}

/** Tokens for each byte of a text, where none of its kind was read yet. */
const TOKENS_PER_BYTE = 1 / 4

/** Tokens of a passage, of which an embedding model gets several in a request. */
const TOKENS_PER_PASSAGE = 300

/** The price of embedding files that are not read yet, by their sizes and by files of the same kind that were read before. */
export interface UploadEstimate extends EmbeddingPrice {
  /** Files of a kind of which none was read yet, so that their tokens are unknown. */
  unknownFiles: number
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
  const price = await estimatePrice(ctx, embedding.model, { files: known.length, passages, tokens })
  return { unknownFiles: files.length - known.length, ...price }
}

/** Passages that are embedded by one request, as prices may depend on its length. */
const PASSAGES_PER_REQUEST = 32

type Amount = Pick<RebuildPrice, 'files' | 'passages' | 'tokens'>

/** Estimates the billed tokens and the price of texts, by the tokens that we count of them. */
async function estimatePrice(
  { services: { sql, ai } }: Context,
  name: string,
  amount: Amount,
): Promise<EmbeddingPrice> {
  const [{ ratio } = { ratio: 1 }] = await sql(findTokenRatio, [name])
  const tokens = Math.ceil(amount.tokens * ratio)
  // A file's last request is shorter.
  const requests = Math.max(1, amount.files, Math.ceil(amount.passages / PASSAGES_PER_REQUEST))
  const model = await ai.callableModels.find(name, 'main', 'embedding')
  // A provider that bills no token makes this 0.
  const input = Math.max(1, Math.ceil(tokens / requests))
  const { costMicros, currency } = computeCost(model?.pricing ?? null, { input, output: 0, cached: 0, reasoning: 0 })
  const total = costMicros === null ? null : Math.round((costMicros * tokens) / input)
  return { tokens, costMicros: total, currency }
}
