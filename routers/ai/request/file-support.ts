import type { Issue } from '../../core/problems.ts'
import { type Adapter, unsupportedByAdapter } from '../../ports/ai/adapters.ts'
import type { CallableModel } from '../../ports/ai/models.ts'
import type { PromptFile } from '../../ports/ai/prompt-files.ts'
import { type ExtractedText, listGaps } from '../../ports/files/text-extractor.ts'
import { imageTypes, isPlainText } from './parts.ts'
import type { AiRequest, RequestMessage } from './request.ts'

/** True if the model receives the file itself and not its text. */
export const takesBytes = ({ mime }: PromptFile, model: CallableModel): boolean =>
  (imageTypes.includes(mime) || mime === 'application/pdf') && findFileIssues({ mime }, model, []).length === 0

type Path = Issue['path']

type Misfit = Pick<Issue, 'message' | 'reason'>

const failureMessages = {
  encrypted: 'needs a password',
  damaged: 'is damaged, or not what it says',
  'too-large': 'is larger inside than is allowed',
  'too-much-memory': 'took too much memory to be read',
  'too-slow': 'took too long to be read',
  'unknown-encoding': 'has characters in an unknown encoding; save it as UTF-8',
  'not-read': 'could not be read',
} satisfies Record<NonNullable<PromptFile['textFailure']>, string>

/** Describes a file without text by what it contains instead. */
export const describeNoText = (notes: ExtractedText['notes']): string =>
  ['has no text that a model could read', ...(notes.length > 0 ? [`only ${listGaps(notes)}`] : [])].join(', ')

/** Describes why text extraction failed, as a continuation of the file's name. */
export const describeFailure = (failure: keyof typeof failureMessages): string => failureMessages[failure]

/** Returns why the model cannot receive the file; `pending` if it may later. */
export function findMisfit(file: PromptFile, model: CallableModel): Misfit | undefined {
  if (file.clientEncrypted) return { message: 'is encrypted by a browser, so that no model can read it' }
  if (model.settings?.fileUpload === false) return { message: NO_FILES }
  if (takesBytes(file, model)) return undefined
  if (file.mime.startsWith('image/')) return { message: 'is an image, which this model does not take' }
  if (file.textState === 'pending') return { message: 'is still being read', reason: 'pending' }
  if (file.textState === 'none') return { message: describeNoText(file.textNotes) }
  return file.textState === 'failed' ? { message: failureMessages[file.textFailure ?? 'not-read'] } : undefined
}

export interface TextReading {
  /** True if text can be extracted from documents of this type, for models that take no documents. */
  canRead?(mime: string): boolean
}

/** Returns an issue for each file that the model takes neither unchanged nor as text. */
export function findUnsupportedFiles(
  { messages }: AiRequest,
  model: CallableModel,
  { canRead = () => false }: TextReading,
): Issue[] {
  const findUnsupportedPart = (part: RequestMessage['content'][number], path: Path): Issue[] => {
    if (part.type === 'tool-result')
      return part.content.flatMap((inner, index) => findUnsupportedPart(inner, [...path, 'content', index]))
    if (part.type !== 'file' && part.type !== 'stored-file') return []
    const isReadAsText =
      model.settings?.fileUpload !== false && isDocumentUnsupported(part.mime, model) && canRead(part.mime)
    return isReadAsText ? [] : findFileIssues(part, model, path)
  }
  return messages.flatMap(({ content }, at) =>
    content.flatMap((part, index) => findUnsupportedPart(part, ['messages', at, 'content', index])),
  )
}

export const NO_FILES = 'is a file, and this model takes none'

export function findFileIssues({ mime }: { mime: string }, model: CallableModel, path: Path): Issue[] {
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

/** No model takes documents other than PDFs. */
export const isDocumentUnsupported = (mime: string, model: CallableModel): boolean =>
  !mime.startsWith('image/') &&
  !isPlainText(mime) &&
  (mime !== PDF || unsupportedByAdapter[model.adapter as Adapter].includes('documents'))
