import type { KnowledgeFailure, ListedKnowledgeFile } from '../../../entities/assistants/knowledge.sql.ts'
import type { KnowledgeDelay } from '../../../entities/assistants/knowledge-vectors.sql.ts'
import { listGaps } from '../../ports/files/text-extractor.ts'

const explanations: Record<KnowledgeFailure, string> = {
  encrypted: 'The file needs a password.',
  damaged: 'The file is damaged, or is no file of this kind.',
  'too-large': 'The file is too large inside.',
  'too-much-memory': 'Reading the file takes too much memory.',
  'too-slow': 'Reading the file takes too long.',
  'unknown-encoding': 'The characters of the file are in an unknown encoding.',
  'not-read': 'The file could not be read. Upload it again.',
  'no-text': 'The file has no text.',
  full: 'The knowledge, or all of yours together, has no place for further passages. Delete files.',
}

/** Sentences about an embedding that has waited for an hour. */
const delays: Record<KnowledgeDelay, string> = {
  provider: 'The search by meaning has waited for the embedding model for more than an hour.',
  limit: 'The search by meaning has waited for room in a usage limit for more than an hour.',
  model:
    'The search by meaning has waited for an embedding model for more than an hour, as there is none of the set name.',
}

/** Says why a search finds a file by its words alone; undefined if it does not, or only for a while. */
function explainEmbedding(embedding: ListedKnowledgeFile['embedding']): string | undefined {
  if (embedding?.state === 'refused')
    return 'The embedding model does not take the file, so it is found by its words alone.'
  return embedding?.isLate && embedding.delay ? `${delays[embedding.delay]} Its words are found.` : undefined
}

type FileState = Pick<ListedKnowledgeFile, 'failure' | 'pages' | 'notes' | 'truncated' | 'embedding'>

/** Says why a file is not searchable, or what a search does not find of it; null if nothing is missing. */
export function explainState({ failure, pages, notes, truncated, embedding }: FileState): string | null {
  const empty = notes.find(({ gap }) => gap === 'pages')?.count
  const emptyPages = empty && pages ? `${empty} of ${pages} pages have no text.` : undefined
  if (failure) return (failure === 'no-text' && emptyPages) || explanations[failure]
  const others = notes.filter(({ gap }) => gap !== 'pages' || !emptyPages)
  const sentences = [
    emptyPages,
    others.length > 0 ? `A search does not find: ${listGaps(others)}.` : undefined,
    truncated ? 'Only the beginning of the text is searchable, since it is too long.' : undefined,
    explainEmbedding(embedding),
  ].filter((sentence) => sentence !== undefined)
  return sentences.length > 0 ? sentences.join(' ') : null
}
