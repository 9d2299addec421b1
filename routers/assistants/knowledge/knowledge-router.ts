import { z } from 'zod'
import {
  countKnowledgeFiles,
  type ListedKnowledge,
  type ListedKnowledgeFile,
  listKnowledge,
  listKnowledgeFiles,
} from '../../../entities/assistants/knowledge.sql.ts'
import { listUnreadFiles } from '../../../entities/assistants/knowledge-maintenance.sql.ts'
import { runInTransaction } from '../../core/changes.ts'
import type { Context } from '../../core/context.ts'
import { about, host, router, userWith, withBodySize } from '../../core/trpc.ts'
import { LAST_ROW } from '../../resource/ids.ts'
import { handle } from '../content.ts'
import { deleteAsOwner, type OwnersSearch, searchAsOwner, uploadAsOwner } from './act-as-owner.ts'
import { cancelFile, createKnowledge, deleteFile, removeKnowledge } from './change-knowledge.ts'
import {
  type ComparedFile,
  compareOwnFiles,
  compareSource,
  measuredFile,
  type SourceComparison,
  sourceFile,
} from './compare-files.ts'
import { delayFailed, embedFile } from './embed-file.ts'
import { isEmbedding } from './embed-question.ts'
import { explainState } from './explain-state.ts'
import { deleteRetired, describeIndexes, planLostEmbeddings, prepareIndex, rebuildIndex } from './index-exchange.ts'
import { type OpenedCitation, openCitation } from './open-citation.ts'
import { createUnknownKnowledge } from './own-knowledge.ts'
import { failFile, readFile } from './read-file.ts'
import { type KnowledgeHit, searchKnowledge } from './search.ts'
import { filePath, type UploadedFile, uploadFile } from './upload.ts'

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

const query = z.string().trim().min(1, 'must not be empty').max(MAX_QUERY)
const limit = z.int().min(1).max(50).default(8)

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
    .mutation(({ ctx, input }) => createKnowledge(ctx, ctx.caller.person.id, input.name)),

  delete: userWith('write')
    .meta(about('Delete knowledge with all of its files.'))
    .input(knowledgeId)
    .mutation(({ ctx, input }) => removeKnowledge(ctx, ctx.caller.person.id, input.id)),

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
    .mutation(({ ctx, input }) => cancelFile(ctx, ctx.caller.person.id, input)),

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
        query,
        limit,
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
    .mutation(({ ctx, input }): Promise<UploadedFile> => uploadAsOwner(ctx, input)),

  /** Deletes files of the knowledge of an assistant; those that are gone already are left out. */
  deleteFilesFor: host
    .input(z.strictObject({ handle, files: z.array(rowId).max(MAX_SOURCE) }))
    .mutation(({ ctx, input }): Promise<{ deleted: number }> => deleteAsOwner(ctx, input)),

  /** Searches the knowledge of an assistant as its owner does, at their cost. */
  searchFor: host
    .input(z.strictObject({ handle, query, limit }))
    .query(({ ctx, input }): Promise<OwnersSearch> => searchAsOwner(ctx, input)),

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
