import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { api } from './api/client.ts'
import { setSessionEnded } from './api/session-end.ts'
import { useSession } from './session.tsx'
import { formatMegabytes } from './text/file-size.ts'
import { t } from './text/labels.ts'
import { IconButton } from './ui/icon.tsx'

/** A file that is being uploaded or has been. */
interface Upload {
  /** Identifies the upload on this page. */
  key: number
  name: string
  /** From 0 to 1. */
  progress: number
  /** The id of the attachment once the upload is complete. */
  id?: string
  /** The reason why the upload was refused, as a text for people. */
  refusal?: string
}

interface FileRules {
  maxFileSize?: number
}

const { api: jsonApi = '' } = document.documentElement.dataset

/** Encrypts a file before it is uploaded. */
type SealFile = (file: File) => Promise<Blob>

/** Uploads the files for the next message, encrypted if `seal` is given. */
export function useUploads(seal?: SealFile) {
  const { connection } = useSession()
  const [uploads, setUploads] = useState<Upload[]>([])
  const cancellations = useRef(new Map<number, () => void>())
  const nextKey = useRef(0)
  const { maxFileSize = Number.POSITIVE_INFINITY } = (connection.configs['storage_files'] ?? {}) as FileRules

  const change = (key: number, changes: Partial<Upload>) =>
    setUploads((all) => all.map((each) => (each.key === key ? { ...each, ...changes } : each)))

  const addOne = (file: File) => {
    const key = nextKey.current++
    setUploads((all) => [...all, { key, name: file.name, progress: 0 }])
    if (file.size > maxFileSize)
      return change(key, { refusal: t('app.files.tooLarge', { size: formatMegabytes(maxFileSize) }) })
    cancellations.current.set(
      key,
      uploadFile(file, seal, (changes) => change(key, changes)),
    )
  }
  const remove = (key: number) => {
    cancellations.current.get(key)?.()
    setUploads((all) => all.filter((each) => each.key !== key))
  }
  return {
    uploads,
    add: (files: Iterable<File>) => [...files].forEach(addOne),
    remove,
    /** Removes the files that are listed here, and keeps those that were added since. */
    clear: () => setUploads((all) => all.filter(({ key }) => !uploads.some((sent) => sent.key === key))),
    isUploading: uploads.some(({ id, refusal }) => id === undefined && refusal === undefined),
    ids: uploads.flatMap(({ id }) => id ?? []),
  }
}

/**
 * Encrypts and uploads a file, and returns a function that cancels this. Uses XMLHttpRequest, as `fetch` reports no
 * upload progress.
 */
function uploadFile(file: File, seal: SealFile | undefined, change: (changes: Partial<Upload>) => void): () => void {
  const request = new XMLHttpRequest()
  request.open('POST', `${jsonApi}/attachments/actions/upload`)
  request.setRequestHeader('accept', 'application/vnd.api+json')
  request.responseType = 'json'
  request.upload.onprogress = ({ loaded, total }) => change({ progress: total > 0 ? loaded / total : 0 })
  request.onload = () => {
    if (request.status === 401) setSessionEnded(true)
    change(readUploadResult(request))
  }
  request.onerror = () => change({ refusal: t('page.error.offline') })
  // A request can only be aborted once it is sent.
  let isCancelled = false
  const send = (content: Blob) => {
    if (isCancelled) return
    const form = new FormData()
    form.append('name', file.name)
    if (seal) form.append('clientEncrypted', 'true')
    form.append('file', content, file.name)
    request.send(form)
  }
  if (seal) void seal(file).then(send, () => change({ refusal: t('app.files.refused') }))
  else send(file)
  return () => {
    isCancelled = true
    request.abort()
  }
}

interface UploadResponse {
  data?: { id: string }
  errors?: { code?: string; detail?: string }[]
}

function readUploadResult({ status, response }: XMLHttpRequest): Partial<Upload> {
  const { data, errors } = (response ?? {}) as UploadResponse
  if (data) return { id: data.id, progress: 1 }
  const code = errors?.[0]?.code ?? ''
  return { refusal: t(status === 413 ? 'app.files.tooLargeForService' : (refusalLabels[code] ?? 'app.files.refused')) }
}

const refusalLabels: Record<string, string> = { unsupported_media_type: 'app.files.kind', invalid: 'app.files.kind' }

/** Returns the state of the text that models read of a file, and polls while it is pending. */
const useTextState = (id: string | undefined) =>
  useQuery({
    queryKey: ['attachment', id],
    enabled: id !== undefined,
    queryFn: ({ signal }) => api.attachments.get.query({ id: id ?? '' }, { signal }),
    refetchInterval: ({ state }) => (state.data?.textState === 'pending' ? 1500 : false),
  }).data?.textState

/** The files for the next message, and the actions on them. */
export type Uploads = ReturnType<typeof useUploads>

/** The files for the next message with their upload progress. */
export const UploadList = ({ uploads, remove }: { uploads: readonly Upload[]; remove: (key: number) => void }) =>
  uploads.length > 0 && (
    <ul className="uploads" aria-label={t('app.files')}>
      {uploads.map((upload) => (
        <UploadRow key={upload.key} upload={upload} remove={() => remove(upload.key)} />
      ))}
    </ul>
  )

const textStateLabels = {
  pending: 'app.files.reading',
  ready: 'app.files.ready',
  none: 'app.files.ready',
  failed: 'app.files.unread',
} as const

function UploadRow({ upload, remove }: { upload: Upload; remove: () => void }) {
  const { id, name, progress, refusal } = upload
  const textState = useTextState(id)
  const isSending = id === undefined && refusal === undefined
  const isStored = id !== undefined && refusal === undefined
  return (
    <li className={refusal && 'refused'}>
      <span className="file-name">{name}</span>
      {isSending && <progress value={progress} aria-label={t('app.files.sending', { name })} />}
      <span className="hint">
        {refusal}
        {isStored && t(textState === undefined ? 'app.files.ready' : textStateLabels[textState])}
      </span>
      <IconButton icon="close" label={t('app.files.remove', { name })} onClick={remove} />
    </li>
  )
}
