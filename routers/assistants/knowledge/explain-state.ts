import type { KnowledgeFailure, ListedKnowledgeFile } from '../../../entities/assistants/knowledge.sql.ts'
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

type FileState = Pick<ListedKnowledgeFile, 'failure' | 'pages' | 'notes' | 'truncated'>

/** Says why a file is not searchable, or what a search does not find of it; null if nothing is missing. */
export function explainState({ failure, pages, notes, truncated }: FileState): string | null {
  const empty = notes.find(({ gap }) => gap === 'pages')?.count
  const emptyPages = empty && pages ? `${empty} of ${pages} pages have no text.` : undefined
  if (failure) return (failure === 'no-text' && emptyPages) || explanations[failure]
  const others = notes.filter(({ gap }) => gap !== 'pages' || !emptyPages)
  const sentences = [
    emptyPages,
    others.length > 0 ? `A search does not find: ${listGaps(others)}.` : undefined,
    truncated ? 'Only the beginning of the text is searchable, since it is too long.' : undefined,
  ].filter((sentence) => sentence !== undefined)
  return sentences.length > 0 ? sentences.join(' ') : null
}
