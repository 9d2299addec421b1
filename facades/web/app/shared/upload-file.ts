import { InputError } from './api/error-text.ts'
import { setSessionEnded } from './api/session-end.ts'
import { addPageFile, findPageFile, isPageFile, isText } from './page-files.ts'
import { t } from './text/labels.ts'

const { api: jsonApi = '' } = document.documentElement.dataset

/** Encrypts a file before it is uploaded. */
export type SealFile = (file: File) => Promise<Blob>

export interface UploadOptions {
  seal?: SealFile | undefined
  signal?: AbortSignal
  /** Receives numbers from 0 to 1. */
  showProgress?: (progress: number) => void
}

/** The result of an upload; neither member is set if it was cancelled. */
export interface UploadResult {
  /** The id of the attachment. */
  id?: string
  /** The reason why the upload was refused, as a text for people. */
  refusal?: string
}

/** Encrypts and uploads a file. */
export async function uploadFile(file: File, options: UploadOptions = {}): Promise<UploadResult> {
  const { seal, signal, showProgress } = options
  if (signal?.aborted) return {}
  const content = await (seal ? seal(file).catch(() => undefined) : file)
  if (content === undefined) return { refusal: t('app.files.refused') }
  if (signal?.aborted) return {}
  const form = new FormData()
  form.append('name', file.name)
  if (seal) form.append('clientEncrypted', 'true')
  form.append('file', content, file.name)
  return sendForm(form, { signal, showProgress })
}

/** Uses XMLHttpRequest, as `fetch` reports no upload progress. */
function sendForm(
  form: FormData,
  { signal, showProgress }: { signal: AbortSignal | undefined; showProgress: UploadOptions['showProgress'] },
): Promise<UploadResult> {
  const request = new XMLHttpRequest()
  request.open('POST', `${jsonApi}/attachments/actions/upload`)
  request.setRequestHeader('accept', 'application/vnd.api+json')
  request.responseType = 'json'
  request.upload.onprogress = ({ loaded, total }) => showProgress?.(total > 0 ? loaded / total : 0)
  signal?.addEventListener('abort', () => request.abort(), { once: true })
  return new Promise((resolve) => {
    request.onload = () => {
      if (request.status === 401) setSessionEnded(true)
      resolve(readUploadResult(request))
    }
    request.onerror = () => resolve({ refusal: t('page.error.offline') })
    request.onabort = () => resolve({})
    request.send(form)
  })
}

interface UploadResponse {
  data?: { id: string }
  errors?: { code: string }[]
}

function readUploadResult({ status, response }: XMLHttpRequest): UploadResult {
  const { data, errors } = (response ?? {}) as UploadResponse
  if (data) return { id: data.id }
  return { refusal: t(status === 413 ? 'app.files.tooLargeForService' : getRefusalLabel(errors?.[0]?.code)) }
}

function getRefusalLabel(code: string | undefined): string {
  if (code === 'quota_reached') return 'app.error.quota_reached'
  return code === 'invalid' || code === 'unsupported_media_type' ? 'app.files.kind' : 'app.files.refused'
}

interface StoredFile {
  id: string
  name: string
  /** The path below `/proxy/storage/`. */
  identifier: string
}

/**
 * Uploads a stored file once more, as a file belongs to one message only, and returns the id of the new attachment. One
 * that only this page has stays as it is.
 */
export const copyFile = async (file: StoredFile): Promise<string> =>
  isPageFile(file.id) ? file.id : uploadCopy(await downloadFile(file))

export async function downloadFile({ id, name, identifier }: StoredFile): Promise<File> {
  if (isPageFile(id)) {
    const { mime: type, content } = findPageFile(id)
    return new File([content], name, { type })
  }
  const response = await fetch(`/proxy/storage/${identifier}`)
  if (!response.ok) throw new InputError(t('app.files.lost', { name }))
  return new File([await response.blob()], name)
}

/** Uploads the beginning of the text that models read in a stored file, and returns the id of the new attachment. */
export async function copyBeginning(
  { id, name }: { id: string; name: string },
  takeBeginning: (text: string) => string,
): Promise<string> {
  const text = await readTextOf(id)
  if (text === undefined) throw new InputError(t('app.files.lost', { name }))
  const copyName = t('app.files.beginningOf', { name: name.replace(/\.txt$/i, '') })
  const copy = new File([takeBeginning(text)], `${copyName}.txt`, { type: 'text/plain' })
  return isPageFile(id) ? ((await addPageFile(copy)) ?? id) : uploadCopy(copy)
}

/** Reads the text of a file; undefined if there is none. */
async function readTextOf(id: string): Promise<string | undefined> {
  if (isPageFile(id)) {
    const file = findPageFile(id)
    return isText(file) ? file.content.text() : undefined
  }
  const response = await fetch(`${jsonApi}/attachments/${id}/actions/text`)
  return response.ok ? response.text() : undefined
}

async function uploadCopy(file: File): Promise<string> {
  const { id, refusal = '' } = await uploadFile(file)
  if (id === undefined) throw new InputError(t('app.files.notCopied', { name: file.name, reason: refusal }))
  return id
}
