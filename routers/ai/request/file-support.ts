import type { Issue } from '../../core/problems.ts'
import { type Adapter, unsupportedByAdapter } from '../../ports/ai/adapters.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import type { PromptFile } from '../../ports/ai/prompt-files.ts'
import { listGaps, type ReadText } from '../../ports/files/text-extractor.ts'
import { imageTypes, isPlainText } from './parts.ts'
import type { AiRequest, AskedMessage } from './request.ts'

/** Whether the model is given the file as it is, and not the text in it. */
export const takesBytes = ({ mime }: PromptFile, model: CallableModel): boolean =>
  (imageTypes.includes(mime) || mime === 'application/pdf') && unsupportedFile({ mime }, model, []).length === 0

type Path = Issue['path']

type Misfit = Pick<Issue, 'message' | 'reason'>

const failures = {
  encrypted: 'needs a password',
  damaged: 'is damaged, or not what it says',
  'too-large': 'is larger inside than is allowed',
  'too-much-memory': 'took too much memory to be read',
  'too-slow': 'took too long to be read',
  'unknown-encoding': 'has characters in an unknown encoding; save it as UTF-8',
  'not-read': 'could not be read',
} satisfies Record<NonNullable<PromptFile['textFailure']>, string>

/** Says of a file without text what it has instead. */
export const noText = (notes: ReadText['notes']): string =>
  ['has no text that a model could read', ...(notes.length > 0 ? [`only ${listGaps(notes)}`] : [])].join(', ')

/** Why a file gives no text, to stand behind its name. */
export const unreadableMessage = (failure: keyof typeof failures): string => failures[failure]

/** Why this model cannot be given the file; `pending` where it may be given it later. */
export function findMisfit(file: PromptFile, model: CallableModel): Misfit | undefined {
  if (file.clientEncrypted) return { message: 'is encrypted by a browser, so that no model can read it' }
  if (model.settings?.fileUpload === false) return { message: NO_FILES }
  if (takesBytes(file, model)) return undefined
  if (file.mime.startsWith('image/')) return { message: 'is an image, which this model does not take' }
  if (file.textState === 'pending') return { message: 'is still being read', reason: 'pending' }
  if (file.textState === 'none') return { message: noText(file.textNotes) }
  return file.textState === 'failed' ? { message: failures[file.textFailure ?? 'not-read'] } : undefined
}

export interface TextReading {
  /** Whether documents of a media type can be read, so that a model that takes no documents is sent their text. */
  canRead?(mime: string): boolean
}

/** Returns an issue for each file of the request that the model takes neither as it is nor as text. */
export function unsupportedFiles(
  { messages }: AiRequest,
  model: CallableModel,
  { canRead = () => false }: TextReading,
): Issue[] {
  const untakenPart = (part: AskedMessage['content'][number], path: Path): Issue[] => {
    if (part.type === 'tool-result')
      return part.content.flatMap((inner, index) => untakenPart(inner, [...path, 'content', index]))
    if (part.type !== 'file' && part.type !== 'stored-file') return []
    const isRead = model.settings?.fileUpload !== false && isDocumentUnsupported(part.mime, model) && canRead(part.mime)
    return isRead ? [] : unsupportedFile(part, model, path)
  }
  return messages.flatMap(({ content }, at) =>
    content.flatMap((part, index) => untakenPart(part, ['messages', at, 'content', index])),
  )
}

export const NO_FILES = 'is a file, and this model takes none'

export function unsupportedFile({ mime }: { mime: string }, model: CallableModel, path: Path): Issue[] {
  if (model.settings?.fileUpload === false) return [{ path, message: NO_FILES }]
  if (isPlainText(mime)) return []
  if (mime.startsWith('image/'))
    return model.input.includes('image') ? [] : [{ path, message: 'is an image, which this model does not take' }]
  if (mime === PDF)
    return isDocumentUnsupported(mime, model)
      ? [{ path, message: 'is a document, which this model does not take' }]
      : []
  return [{ path: [...path, 'mime'], message: 'is no type of file that can be read' }]
}

const PDF = 'application/pdf'

/** Documents other than PDFs are taken by no model. */
export const isDocumentUnsupported = (mime: string, model: CallableModel): boolean =>
  !mime.startsWith('image/') &&
  !isPlainText(mime) &&
  (mime !== PDF || unsupportedByAdapter[model.adapter as Adapter].includes('documents'))
