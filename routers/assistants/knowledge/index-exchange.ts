import {
  activateIndex,
  deleteRetiredEmbeddings,
  deleteRetiredIndexes,
  findBuiltIndex,
  hasUnplannedFile,
  insertIndex,
  isIndexWhole,
  type ListedIndex,
  listIndexes,
  listPendingEmbeddings,
  lockIndexes,
  planIndex,
  retireIndexes,
} from '../../../entities/assistants/knowledge-vectors.sql.ts'
import { runInTransaction } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { createTransactionSql, runForOneRow, runStatement } from '../../core/run-statement.ts'
import type { KnowledgeSettings } from '../../core/settings.ts'
import { estimateRebuild, type RebuildPrice } from './embedding-price.ts'

type WantedIndex = NonNullable<KnowledgeSettings['embedding']>

export interface IndexOverview {
  /** The model of the settings; null for searches by words alone. */
  wanted: WantedIndex | null
  /** The index that is searched. */
  active: ListedIndex | null
  /** The index that is built beside it. */
  building: ListedIndex | null
  /** The price of embedding what is missing for the wanted model; null if nothing is missing. */
  price: RebuildPrice | null
}

const isSame = (one: WantedIndex | undefined, other: WantedIndex | null | undefined) =>
  one?.model === other?.model && one?.dimensions === other?.dimensions

/** Shows the indexes, and what it costs to have all knowledge in that of the settings. */
export async function describeIndexes(ctx: Context): Promise<IndexOverview> {
  const { sql, settings } = ctx.services
  const wanted = settings.knowledge.embedding ?? null
  const indexes = await sql(listIndexes)
  const find = (state: ListedIndex['state']) => indexes.find((index) => index.state === state) ?? null
  const target = wanted && indexes.find((index) => isSame(index, wanted))
  const price = wanted && (await estimateRebuild(ctx, wanted.model, target?.id ?? null))
  return { wanted, active: find('active'), building: find('building'), price }
}

/**
 * Begins the first index of an installation that has no knowledge yet, which costs nothing. Returns true if the knowledge is to be
 * rebuilt for the model of the settings, also if only files lack that were read while no model was set.
 */
export async function prepareIndex(ctx: Context): Promise<boolean> {
  const { settings, sql } = ctx.services
  const wanted = settings.knowledge.embedding
  if (!wanted) return false
  const active = await runInTransaction(ctx, undefined, async (em) => {
    const indexes = await runStatement(em, lockIndexes, [])
    if (indexes.length > 0) return indexes.find(({ state }) => state === 'active')
    const { has } = await runForOneRow(em, hasUnplannedFile, [null])
    if (!has) await runStatement(em, insertIndex, [wanted.model, wanted.dimensions, 'active'])
    return has ? undefined : { id: null, ...wanted }
  })
  if (!active || !isSame(active, wanted)) return true
  const [found] = await sql(hasUnplannedFile, [active.id])
  return found?.has === true
}

/** Files that are planned in one transaction. */
const PLAN_SIZE = 500

/**
 * Plans to embed all knowledge for the model of the settings, at the cost of the installation. The previous index is searched until the new
 * one is whole. Called again, it goes on where files are missing or were refused.
 */
export async function rebuildIndex(ctx: Context): Promise<{ planned: number }> {
  const wanted = ctx.services.settings.knowledge.embedding
  if (!wanted) throw new Problem('conflict', { detail: 'Set KNOWLEDGE_EMBEDDING_MODEL first.' })
  if (!(await ctx.services.ai.callableModels.find(wanted.model, 'main', 'embedding')))
    throw new Problem('conflict', { detail: `There is no embedding model '${wanted.model}'.` })
  const indexId = await beginIndex(ctx, wanted)
  for (let after = 0; ; ) {
    const values = [indexId, after, PLAN_SIZE]
    const rows = await runInTransaction(ctx, undefined, (em) => runStatement(em, planIndex, values))
    if (rows.length === 0) break
    after = Math.max(...rows.map(({ fileId }) => fileId))
  }
  const planned = await planLostEmbeddings(ctx)
  await switchIfWhole(ctx)
  return { planned }
}

const beginIndex = (ctx: Context, wanted: WantedIndex): Promise<number> =>
  runInTransaction(ctx, undefined, async (em) => {
    const indexes = await runStatement(em, lockIndexes, [])
    const same = indexes.find((index) => isSame(index, wanted))
    const outdated = indexes.filter((index) => index.state === 'building' && index !== same)
    await runStatement(em, retireIndexes, [outdated.map(({ id }) => id)])
    if (same) return same.id
    const [begun] = await runStatement(em, insertIndex, [wanted.model, wanted.dimensions, 'building'])
    // Another process has begun one.
    if (!begun) throw new Problem('busy')
    return begun.id
  })

/** Has the new index searched in place of the old one, once no searchable file is missing. */
export async function switchIfWhole(ctx: Context): Promise<void> {
  const [building] = await ctx.services.sql(findBuiltIndex)
  if (!building) return
  await runInTransaction(ctx, undefined, async (em) => {
    const indexes = await runStatement(em, lockIndexes, [])
    const found = indexes.find(({ id, state }) => id === building.id && state === 'building')
    const [{ whole } = { whole: false }] = await createTransactionSql(em)(isIndexWhole, [building.id])
    if (!found || !whole) return
    await runStatement(em, retireIndexes, [indexes.flatMap(({ id, state }) => (state === 'active' ? [id] : []))])
    await runStatement(em, activateIndex, [building.id])
    ctx.services.log.info({ model: found.model }, 'knowledge is searched by the vectors of another model')
  })
}

const LOST_BATCH_SIZE = 1000

/** Enqueues embeddings that have no job, as after a restore of the database. */
export async function planLostEmbeddings(ctx: Context): Promise<number> {
  const { services } = ctx
  if (!services.settings.knowledge.embedding) return 0
  let planned = 0
  for (let after = 0; ; ) {
    const rows = await services.sql(listPendingEmbeddings, [after, LOST_BATCH_SIZE])
    const inputs = rows.map(({ id }) => ({ embeddingId: id }))
    planned += await runInTransaction(ctx, undefined, (em) =>
      services.process.jobQueue.enqueueLost(em, 'embed-knowledge', inputs),
    )
    if (rows.length < LOST_BATCH_SIZE) return planned
    after = rows.at(-1)?.id ?? 0
  }
}

/** Files whose vectors are deleted in one statement. */
const DELETE_SIZE = 20

/** Deletes the vectors of replaced indexes. */
export async function deleteRetired({ services }: Context): Promise<{ deleted: number }> {
  let deleted = 0
  for (;;) {
    const rows = await services.sql(deleteRetiredEmbeddings, [DELETE_SIZE])
    deleted += rows.length
    if (rows.length === 0) break
  }
  await services.sql(deleteRetiredIndexes)
  return { deleted }
}
