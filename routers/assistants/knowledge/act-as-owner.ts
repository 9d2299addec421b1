import type { Context } from '../../core/context.ts'
import { deleteFiles } from './change-knowledge.ts'
import { findKnowledge } from './compare-files.ts'
import { loadPayer } from './embed-question.ts'
import { type KnowledgeHit, searchKnowledge } from './search.ts'
import { type UploadedFile, uploadFile } from './upload.ts'

/** Uploads the file of a call to the knowledge of an assistant, as its owner would, who pays for it. */
export async function uploadAsOwner(
  ctx: Context,
  { handle, path }: { handle: string; path: string },
): Promise<UploadedFile> {
  const { id, ownerId } = await findKnowledge(ctx, handle)
  return uploadFile(ctx, { owner: ownerId, knowledgeId: id, path, file: ctx.file })
}

/** Deletes files by their ids; those that are gone already are left out. */
export async function deleteAsOwner(
  ctx: Context,
  { handle, files }: { handle: string; files: readonly number[] },
): Promise<{ deleted: number }> {
  const { id, ownerId } = await findKnowledge(ctx, handle)
  return deleteFiles(ctx, ownerId, { id, files })
}

/** A search of the host, at the cost of the owner. */
export interface OwnersSearch {
  /** The name of the knowledge. */
  knowledge: string
  hits: KnowledgeHit[]
  /** True if the question has no vector, though there is an embedding model. */
  isByWordsAlone: boolean
}

export async function searchAsOwner(
  ctx: Context,
  { handle, query, limit }: { handle: string; query: string; limit: number },
): Promise<OwnersSearch> {
  const { id, name, ownerId: owner } = await findKnowledge(ctx, handle)
  let isByWordsAlone = false
  const payer = await loadPayer(ctx, owner)
  const reportWordsAlone = () => {
    isByWordsAlone = true
  }
  const search = { asker: owner, owner, knowledgeId: id, query, limit, payer, reportWordsAlone }
  return { knowledge: name, hits: await searchKnowledge(ctx, search), isByWordsAlone }
}
