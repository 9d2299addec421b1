import { raiseVersion } from '../../../entities/assistants/knowledge.sql.ts'
import {
  advanceEmbedding,
  completeEmbedding,
  countEmbedded,
  delayEmbedding,
  findEqualEmbedding,
  findPendingEmbedding,
  insertVectors,
  type KnowledgeDelay,
  listPassagesFrom,
  listVectorsFrom,
  lockKnowledgeById,
  type PendingEmbedding,
  planFileEmbeddings,
  refuseEmbedding,
} from '../../../entities/assistants/knowledge-vectors.sql.ts'
import { AI_USER_ID } from '../../../entities/identity/user.ts'
import { runInTransaction } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import type { EmbeddedTexts } from '../../core/embedder.ts'
import { Problem } from '../../core/problems.ts'
import { runStatement } from '../../core/run-statement.ts'
import type { PlannedJob } from '../../ports/job-queue.ts'
import { isEmbedding, loadPayer } from './embed-question.ts'
import { switchIfWhole } from './index-exchange.ts'
import { derivePartKey, openContent, openPart, sealPart, vectorName } from './sealed-parts.ts'
import { buildSearchedText } from './searched-text.ts'
import { packVector, UnusableVectors } from './vectors.ts'

/** Passages in one request; servers of the house accept so many by default. */
const BATCH_SIZE = 32

/** Milliseconds after which a job lets others run, and goes on behind them. */
const MAX_RUN_MS = 60_000

/** Seconds between two looks at a file of equal bytes that is being embedded. */
const EQUAL_DELAY = 2

/** Vectors that are copied at once. */
const COPY_SIZE = 1000

type Transaction = Parameters<typeof runStatement>[0]

/** Files that people upload are embedded before those of an exchange of the model, which may take days. */
const choosePriority = (byHouse: boolean): number => (byHouse ? 0 : 1)

/** Plans to embed a file in the transaction that made it searchable. */
export async function planEmbeddings({ services }: Context, em: Transaction, fileId: number): Promise<void> {
  if (!services.settings.knowledge.embedding) return
  for (const { id } of await runStatement(em, planFileEmbeddings, [fileId]))
    await enqueue(services, em, { input: { embeddingId: id }, priority: choosePriority(false) })
}

/**
 * Embeds the passages of a file that have no vector yet; does nothing if the file is gone, its index was replaced, or embedding is switched
 * off, so that no provider gets a text then. The job is planned again once a process has an embedding model.
 */
export async function embedFile(ctx: Context, embeddingId: number): Promise<void> {
  if (!isEmbedding(ctx)) return
  const [work] = await ctx.services.sql(findPendingEmbedding, [embeddingId])
  if (!work) return
  const [equal] = work.embedded === 0 ? await ctx.services.sql(findEqualEmbedding, [embeddingId]) : []
  // Equal bytes that were uploaded at the same moment are paid once.
  if (equal && !equal.isWhole) return continueLater(ctx, work, EQUAL_DELAY)
  const at = equal ? await copyVectors(ctx, work, equal) : work.embedded
  return embedFrom(ctx, work, at)
}

/** Embeds the passages of a file from one on, as long as a job may run. */
async function embedFrom(ctx: Context, work: PendingEmbedding, first: number): Promise<void> {
  const end = performance.now() + MAX_RUN_MS
  let at = first
  while (at < work.passages) {
    if (performance.now() > end) return continueLater(ctx, work)
    const texts = await readTexts(ctx, work, at)
    const embedded = await embedOrDelay(ctx, work, texts)
    if (!embedded || !(await storeOrDelay(ctx, work, at, embedded))) return
    at += texts.length
  }
  await complete(ctx, work)
}

/** Reads the texts of passages, with what stands above them. */
async function readTexts(ctx: Context, { fileId, path, sealedKey }: PendingEmbedding, from: number): Promise<string[]> {
  const rows = await ctx.services.sql(listPassagesFrom, [fileId, from, BATCH_SIZE])
  // The file was deleted.
  if (rows.length === 0) throw new DOMException('no passages', 'AbortError')
  const key = derivePartKey(ctx.services.vault, { sealedKey })
  return rows.map((row) => buildSearchedText(path, openContent(key, row)))
}

/** Returns undefined if the embedding waits or was refused. */
async function embedOrDelay(ctx: Context, work: PendingEmbedding, texts: string[]): Promise<EmbeddedTexts | undefined> {
  const { model, dimensions, byHouse, ownerId } = work
  const caller = await loadPayer(ctx, byHouse ? AI_USER_ID : ownerId)
  if (!caller) return undefined
  const signal = ctx.signal()
  const request = { caller, requestId: ctx.requestId, model, dimensions: dimensions ?? undefined, texts, signal }
  try {
    return await ctx.services.ai.embed(request)
  } catch (error) {
    // The service stops, and another process goes on.
    signal.throwIfAborted()
    if (isRefusal(error)) await refuse(ctx, work)
    else await delay(ctx, work.id, error)
    return undefined
  }
}

/** True if the model would refuse the same texts again. */
const isRefusal = (error: unknown) =>
  error instanceof Problem &&
  (error.problem === 'context_length_exceeded' || (error.problem === 'provider_failed' && error.isFinal === true))

async function refuse(ctx: Context, { id, fileId, model }: PendingEmbedding): Promise<void> {
  ctx.services.log.warn({ fileId, model }, 'the embedding model refused a file, which is searched by words alone')
  await ctx.services.sql(refuseEmbedding, [id])
  await switchIfWhole(ctx)
}

/** Seconds until the first further try; each later one waits twice as long. */
const FIRST_DELAY = 2
const MAX_DELAY = 300

/** Returns the number of failed tries since the last vector. */
function delay(ctx: Context, embeddingId: number, error: unknown): Promise<number> {
  return runInTransaction(ctx, undefined, async (em) => {
    const [delayed] = await runStatement(em, delayEmbedding, [embeddingId, findReason(error)])
    if (!delayed) return 0
    const { attempts, byHouse } = delayed
    const delaySeconds = Math.min(MAX_DELAY, FIRST_DELAY * 2 ** (attempts - 1))
    await enqueue(ctx.services, em, { input: { embeddingId }, priority: choosePriority(byHouse), delaySeconds })
    return attempts
  })
}

/** Tries again later after a failure that is not the model's. */
export async function delayFailed(ctx: Context, embeddingId: number): Promise<void> {
  await delay(ctx, embeddingId, new Error('a job has failed'))
}

const findReason = (error: unknown): KnowledgeDelay => {
  const problem = error instanceof Problem ? error.problem : undefined
  if (problem === 'not_found' || problem === 'provider_model_unknown') return 'model'
  return problem === 'limit_reached' || problem === 'limit_held' ? 'limit' : 'provider'
}

const continueLater = (ctx: Context, { id, byHouse }: PendingEmbedding, delaySeconds = 0): Promise<void> =>
  runInTransaction(ctx, undefined, (em) =>
    enqueue(ctx.services, em, { input: { embeddingId: id }, priority: choosePriority(byHouse), delaySeconds }),
  )

const enqueue = (services: Context['services'], em: Transaction, job: PlannedJob<'embed-knowledge'>): Promise<void> =>
  services.process.jobQueue.enqueue(em, 'embed-knowledge', job)

/** Failed tries in a row after which vectors that cannot be searched are asked for no more, as each try is paid. */
const MAX_PAID_TRIES = 10

/** Returns false if nothing was stored. */
async function storeOrDelay(ctx: Context, work: PendingEmbedding, from: number, embedded: EmbeddedTexts) {
  try {
    return await storeVectors(ctx, work, from, embedded)
  } catch (error) {
    if (!(error instanceof UnusableVectors)) throw error
    ctx.services.log.warn({ model: work.model, error: error.message }, 'the vectors of a model cannot be used')
    if ((await delay(ctx, work.id, error)) > MAX_PAID_TRIES) await refuse(ctx, work)
    return false
  }
}

/** Stores vectors; returns false if the file is gone, or another process has stored them. */
async function storeVectors(
  ctx: Context,
  { id, indexId, sealedKey }: PendingEmbedding,
  from: number,
  { vectors, estimatedTokens, billedTokens }: EmbeddedTexts,
): Promise<boolean> {
  const key = derivePartKey(ctx.services.vault, { sealedKey })
  const sealed = vectors.map((vector, at) => sealPart(key, vectorName(indexId, from + at), packVector(vector)))
  return runInTransaction(ctx, undefined, async (em) => {
    const [advanced] = await runStatement(em, advanceEmbedding, [id, from, sealed.length])
    if (!advanced) return false
    await runStatement(em, insertVectors, [id, sealed.map((_, at) => from + at), sealed])
    const length = sealed[0]?.length
    const values = [indexId, vectors[0]?.length, estimatedTokens, billedTokens]
    const [counted] = await runStatement(em, countEmbedded, values)
    if (!counted || sealed.some((one) => one.length !== length)) throw new UnusableVectors('they differ in length')
    return true
  })
}

/** Copies the vectors of another file of the owner that has the same bytes. Returns the number of passages that have one then. */
async function copyVectors(
  ctx: Context,
  { id, indexId, sealedKey }: PendingEmbedding,
  equal: { embeddingId: number; sealedKey: string },
): Promise<number> {
  const { vault } = ctx.services
  const [from, to] = [derivePartKey(vault, equal), derivePartKey(vault, { sealedKey })]
  return runInTransaction(ctx, undefined, async (em) => {
    let at = 0
    for (;;) {
      const rows = await runStatement(em, listVectorsFrom, [equal.embeddingId, at, COPY_SIZE])
      if (rows.length === 0) return at
      const sealed = rows.map(({ ordinal, sealed }) => {
        const name = vectorName(indexId, ordinal)
        return sealPart(to, name, openPart(from, name, sealed))
      })
      if ((await runStatement(em, advanceEmbedding, [id, at, rows.length])).length === 0) return at
      await runStatement(em, insertVectors, [id, rows.map(({ ordinal }) => ordinal), sealed])
      at += rows.length
    }
  })
}

/** Makes the vectors of a file searchable. */
async function complete(ctx: Context, { id, knowledgeId }: PendingEmbedding): Promise<void> {
  await runInTransaction(ctx, undefined, async (em) => {
    // Those who delete files lock the knowledge first, too.
    await runStatement(em, lockKnowledgeById, [knowledgeId])
    const [completed] = await runStatement(em, completeEmbedding, [id])
    if (completed?.indexState === 'active') await runStatement(em, raiseVersion, [knowledgeId])
  })
  await switchIfWhole(ctx)
}
