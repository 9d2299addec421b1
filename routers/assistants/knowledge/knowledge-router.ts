import { z } from 'zod'
import {
  cancelKnowledgeFile,
  countKnowledge,
  countKnowledgeFiles,
  deleteKnowledge,
  deleteKnowledgeFiles,
  insertKnowledge,
  type ListedKnowledge,
  type ListedKnowledgeFile,
  listKnowledge,
  listKnowledgeFiles,
  lockKnowledge,
  raiseVersion,
} from '../../../entities/assistants/knowledge.sql.ts'
import { listUnreadFiles } from '../../../entities/assistants/knowledge-maintenance.sql.ts'
import { lockPerson } from '../../../entities/identity/user.sql.ts'
import { runInTransaction, withChangeLog } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { Problem } from '../../core/problems.ts'
import { runForOneRow, runStatement } from '../../core/run-statement.ts'
import { about, host, router, userWith, withBodySize } from '../../core/trpc.ts'
import { LAST_ROW } from '../../resource/ids.ts'
import { handle } from '../content.ts'
import {
  type ComparedFile,
  compareOwnFiles,
  compareSource,
  findKnowledge,
  measuredFile,
  type SourceComparison,
  sourceFile,
} from './compare-files.ts'
import { delayFailed, embedFile } from './embed-file.ts'
import { explainState } from './explain-state.ts'
import { deleteRetired, describeIndexes, planLostEmbeddings, prepareIndex, rebuildIndex } from './index-exchange.ts'
import { type OpenedCitation, openCitation } from './open-citation.ts'
import { failFile, readFile } from './read-file.ts'
import { type KnowledgeHit, searchKnowledge } from './search.ts'
import { createUnknownKnowledge, filePath, type UploadedFile, uploadFile } from './upload.ts'

/** Knowledge of one person. */
const MAX_KNOWLEDGE = 200

/** Characters of a question. */
const MAX_QUERY = 2000

/** Characters of the sealed part of an address, which has a path in it. */
const MAX_ADDRESS = 4000

/** Files that a program compares at once. */
const MAX_COMPARED = 500

/** Files of a folder that the host compares at once. */
const MAX_SOURCE = 1_000_000

const rowId = z.int().min(1).max(LAST_ROW)
const knowledgeId = z.strictObject({ id: rowId })
const fileInput = z.strictObject({ id: rowId, file: rowId })

const name = z
  .string()
  .trim()
  .min(1, 'must not be empty')
  .max(120)
  .regex(/^[^\p{Cc}\p{Zl}\p{Zp}]*$/u, 'must be one line')

/** A file with a sentence about its state. */
type ShownFile = ListedKnowledgeFile & {
  /** Says what is missing of the file, or why it is not searchable; null if it is searchable as a whole, or not read yet. */
  explanation: string | null
}

/** The input of a job that reads a file. */
const jobInput = z.strictObject({ fileId: rowId })

/** The input of a job that embeds a file. */
const embeddingInput = z.strictObject({ embeddingId: rowId })

/** Collections of files in which their owners search. Nobody else is told that they exist. */
export const knowledgeRouter = router({
  list: userWith('read')
    .meta(about("List the caller's knowledge, with the states of its files."))
    .query(
      ({ ctx }): Promise<ListedKnowledge[]> =>
        ctx.services.sql(listKnowledge, [ctx.caller.person.id, isEmbedding(ctx)]),
    ),

  create: userWith('write')
    .meta(about('Create knowledge without files. Its name is unique among those of the caller.'))
    .input(z.strictObject({ name }))
    .mutation(({ ctx, input }) => create(ctx, ctx.caller.person.id, input.name)),

  delete: userWith('write')
    .meta(about('Delete knowledge with all of its files.'))
    .input(knowledgeId)
    .mutation(({ ctx, input }) => remove(ctx, ctx.caller.person.id, input.id)),

  files: userWith('read')
    .meta(about('List the files of knowledge by path, with the state of each.'))
    .input(
      z.strictObject({
        id: rowId,
        limit: z.int().min(1).max(200).default(100),
        offset: z.int().min(0).max(1_000_000).default(0),
      }),
    )
    .query(async ({ ctx, input: { id, limit, offset } }): Promise<{ files: ShownFile[]; total: number }> => {
      const values = [ctx.caller.person.id, id, limit, offset, isEmbedding(ctx)]
      const rows = await ctx.services.sql(listKnowledgeFiles, values)
      const files = rows.flatMap(({ file }) => (file ? [{ ...file, explanation: explainState(file) }] : []))
      // Without rows the knowledge is unknown, or the offset is beyond the last file.
      const [counted] = rows.length > 0 ? rows : await ctx.services.sql(countKnowledgeFiles, [ctx.caller.person.id, id])
      if (!counted) throw createUnknownKnowledge()
      return { files, total: counted.total }
    }),

  upload: userWith('write')
    .meta({
      ...about('Upload a file, which a job then reads. A file at the same path stays searchable until it is read.'),
      file: 'in',
    })
    .input(z.strictObject({ id: rowId, path: filePath }))
    .mutation(({ ctx, input: { id, path } }): Promise<UploadedFile> => {
      return uploadFile(ctx, { owner: ctx.caller.person.id, knowledgeId: id, path, file: ctx.file })
    }),

  /** A mutation, since the address of a query has no room for so many files. */
  compare: userWith('read')
    .meta({
      ...about(
        'Compare files with those of knowledge by their paths and hashes, so that a program uploads only what is new or changed. They are answered in their order.',
      ),
      ...withBodySize('long text'),
    })
    .input(z.strictObject({ id: rowId, files: z.array(sourceFile).max(MAX_COMPARED) }))
    .mutation(({ ctx, input }): Promise<ComparedFile[]> => compareOwnFiles(ctx, ctx.caller.person.id, input)),

  cancel: userWith('write')
    .meta(about('Remove a file that is not read or embedded yet. Whoever uploaded it pays what is embedded by then.'))
    .input(fileInput)
    .mutation(({ ctx, input }) => cancel(ctx, ctx.caller.person.id, input)),

  deleteFile: userWith('write')
    .meta(about('Delete a file.'))
    .input(fileInput)
    .mutation(({ ctx, input }) => deleteFile(ctx, ctx.caller.person.id, input)),

  /** A mutation, since the address of a query, which servers log, would have the question in it. */
  search: userWith('read')
    .meta({
      ...about(
        'Search the files of knowledge by the words of a question, and by its meaning if the installation has an embedding model, which the caller then pays. The best passages come first.',
      ),
      // The index may have to be made first, without the database.
      waitsOutside: true,
    })
    .input(
      z.strictObject({
        id: rowId,
        query: z.string().trim().min(1, 'must not be empty').max(MAX_QUERY),
        limit: z.int().min(1).max(50).default(8),
      }),
    )
    .mutation(({ ctx, input: { id, query, limit } }): Promise<KnowledgeHit[]> => {
      const { id: asker } = ctx.caller.person
      return searchKnowledge(ctx, { asker, owner: asker, knowledgeId: id, query, limit })
    }),

  openCitation: userWith('read')
    .meta(about('Read a passage that an answer cites, if the caller may use its assistant or has the knowledge.'))
    .input(z.strictObject({ address: z.string().min(1).max(MAX_ADDRESS).describe('The last part of the address.') }))
    .query(({ ctx, input: { address } }): Promise<OpenedCitation> => {
      return openCitation(ctx, ctx.caller.person.id, address)
    }),

  /** Compares a folder with the knowledge of an assistant. */
  compareSource: host
    .input(z.strictObject({ handle, files: z.array(measuredFile).max(MAX_SOURCE) }))
    .query(({ ctx, input }): Promise<SourceComparison> => compareSource(ctx, input)),

  /** Uploads a file to the knowledge of an assistant, as its owner would. */
  uploadFor: host
    .meta({ file: 'in' })
    .input(z.strictObject({ handle, path: filePath }))
    .mutation(async ({ ctx, input: { handle, path } }): Promise<UploadedFile> => {
      const { id, ownerId } = await findKnowledge(ctx, handle)
      return uploadFile(ctx, { owner: ownerId, knowledgeId: id, path, file: ctx.file })
    }),

  /** Deletes files of the knowledge of an assistant; those that are gone already are left out. */
  deleteFilesFor: host
    .input(z.strictObject({ handle, files: z.array(rowId).max(MAX_SOURCE) }))
    .mutation(async ({ ctx, input: { handle, files } }): Promise<{ deleted: number }> => {
      const { id, ownerId } = await findKnowledge(ctx, handle)
      return deleteFiles(ctx, ownerId, { id, files })
    }),

  /** Does nothing if the file is gone or was read before. */
  read: host.input(jobInput).mutation(({ ctx, input }) => readFile(ctx, input.fileId)),

  giveUp: host.input(jobInput).mutation(({ ctx, input }) => failFile(ctx, input.fileId, 'not-read')),

  /** Does nothing if the file is gone or was embedded before. */
  embed: host.input(embeddingInput).mutation(({ ctx, input }) => embedFile(ctx, input.embeddingId)),

  giveUpEmbedding: host.input(embeddingInput).mutation(({ ctx, input }) => delayFailed(ctx, input.embeddingId)),

  /** Shows the indexes of vectors, and the price of a rebuild. */
  index: host.query(({ ctx }) => describeIndexes(ctx)),

  prepareIndex: host.mutation(({ ctx }) => prepareIndex(ctx)),

  rebuild: host.mutation(({ ctx }) => rebuildIndex(ctx)),

  deleteRetired: host.mutation(({ ctx }) => deleteRetired(ctx)),

  planLost: host.mutation(async ({ ctx }) => {
    const { planned } = await enqueueLostFiles(ctx)
    return { planned: planned + (await planLostEmbeddings(ctx)) }
  }),
})

/** True if the installation has an embedding model; without one nothing waits for it. */
const isEmbedding = ({ services }: Context): boolean => services.settings.knowledge.embedding !== undefined

async function create(ctx: Context, owner: number, name: string): Promise<{ id: number; name: string }> {
  return runInTransaction(ctx, undefined, async (em) => {
    await runStatement(em, lockPerson, [owner])
    const { count } = await runForOneRow(em, countKnowledge, [owner])
    if (count >= MAX_KNOWLEDGE)
      throw new Problem('conflict', { detail: `A person has at most ${MAX_KNOWLEDGE} collections of knowledge.` })
    const [created] = await runStatement(em, insertKnowledge, [owner, name])
    if (!created) throw new Problem('conflict', { detail: `You have knowledge of the name '${name}' already.` })
    return { ...created, name }
  })
}

function remove(ctx: Context, owner: number, id: number): Promise<{ id: number }> {
  return withChangeLog(ctx, async (em, changes) => {
    await lockOwn(em, owner, id)
    const files = await runStatement(em, deleteKnowledge, [[id]])
    changes.dropFiles(
      files.map(({ uuid }) => uuid),
      'knowledge',
    )
    return { id }
  })
}

type FileRef = z.output<typeof fileInput>

function cancel(ctx: Context, owner: number, { id, file }: FileRef): Promise<{ id: number }> {
  return withChangeLog(ctx, async (em, changes) => {
    await lockOwn(em, owner, id)
    const [cancelled] = await runStatement(em, cancelKnowledgeFile, [id, file])
    if (!cancelled) throw new Problem('conflict', { detail: 'This file is neither being read nor embedded.' })
    if (cancelled.state === 'ready') await runStatement(em, raiseVersion, [id])
    changes.dropFiles([cancelled.uuid], 'knowledge')
    return { id: file }
  })
}

async function deleteFile(ctx: Context, owner: number, { id, file }: FileRef): Promise<{ id: number }> {
  const { deleted } = await deleteFiles(ctx, owner, { id, files: [file] })
  if (deleted === 0) throw new Problem('not_found', { detail: 'The knowledge has no such file.' })
  return { id: file }
}

function deleteFiles(
  ctx: Context,
  owner: number,
  { id, files }: { id: number; files: readonly number[] },
): Promise<{ deleted: number }> {
  return withChangeLog(ctx, async (em, changes) => {
    await lockOwn(em, owner, id)
    const deleted = await runStatement(em, deleteKnowledgeFiles, [id, files])
    if (deleted.some(({ state }) => state === 'ready')) await runStatement(em, raiseVersion, [id])
    changes.dropFiles(
      deleted.map(({ uuid }) => uuid),
      'knowledge',
    )
    return { deleted: deleted.length }
  })
}

async function lockOwn(em: Parameters<typeof runStatement>[0], owner: number, id: number): Promise<void> {
  const [found] = await runStatement(em, lockKnowledge, [owner, id])
  if (!found) throw createUnknownKnowledge()
}

const LOST_BATCH_SIZE = 1000

/** Enqueues files whose jobs were lost, as after a restore of the database. */
async function enqueueLostFiles(ctx: Context): Promise<{ planned: number }> {
  const { jobQueue } = ctx.services.process
  let planned = 0
  for (let after = 0; ; ) {
    const rows = await ctx.services.sql(listUnreadFiles, [after, LOST_BATCH_SIZE])
    const inputs = rows.map(({ id }) => ({ fileId: id }))
    planned += await runInTransaction(ctx, undefined, (em) => jobQueue.enqueueLost(em, 'read-knowledge', inputs))
    if (rows.length < LOST_BATCH_SIZE) return { planned }
    after = rows.at(-1)?.id ?? 0
  }
}
