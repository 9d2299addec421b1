import { useEffect, useRef, useState } from 'react'
import { isGone } from './attachment.ts'
import { guardClosing } from './closing-guard.ts'
import { useStoredDraft } from './conversation/draft.ts'
import { isRecord } from './local-store.ts'
import { addPageFile, countPageBytes, forgetPageFile, isPageFile } from './page-files.ts'
import { useSession } from './session.tsx'
import { formatSize } from './text/file-size.ts'
import { t } from './text/labels.ts'
import { type SealFile, type UploadOptions, type UploadResult, uploadFile } from './upload-file.ts'

/** A file that is being uploaded or has been. */
export interface Upload {
  /** Identifies the upload on this page. */
  key: number
  name: string
  /** From 0 to 1. */
  progress: number
  /** The id of the attachment once the upload is complete. */
  id?: string | undefined
  /** The reason why the upload was refused, as a text for people. */
  refusal?: string | undefined
  /** The content of a file that was made of a text, which must not be lost. */
  text?: string | undefined
}

interface UploadsOptions {
  /** Encrypts the files. */
  seal?: SealFile
  /** True if the files stay on this page, as nothing of their chat is stored. */
  isOnPage?: boolean
  /** Returns true if a file of this page is in a message or a waiting question, too. */
  isInUse?: ((id: string) => boolean) | undefined
}

/**
 * Uploads the files for the next message one after the other, so that they keep their order. They are part of the draft
 * with this name. An upload goes on when the form is left, and its file joins the draft.
 */
export function useUploads(draftName: string, { seal, isOnPage = false, isInUse }: UploadsOptions = {}) {
  const [listed, setUploads] = useState<Upload[]>([])
  const uploads = listed.map((each) => refuseOtherUpload(each, isOnPage))
  const nextKey = useRef(0)
  const change = (key: number, changes: Partial<Upload>) =>
    setUploads((all) => all.map((each) => (each.key === key ? { ...each, ...changes } : each)))

  const keepLateFile = (file: DraftFile) => draftFiles.keepLateFile(file)
  const store = isOnPage ? keepOnPage : (file: File, options: UploadOptions) => uploadFile(file, { ...options, seal })
  const { upload, remake, stop } = useUploadQueue(change, { store, keepLateFile, isInUse })
  const addOne = (file: File, text?: string): Promise<boolean> => {
    const key = nextKey.current++
    setUploads((all) => [...all, { key, name: file.name, progress: 0, text }])
    return upload(key, file, text)
  }
  const remove = (key: number) => {
    stop(key, listed.find((each) => each.key === key)?.id)
    setUploads((all) => all.filter((each) => each.key !== key))
  }
  const restoreOne = async (file: DraftFile): Promise<void> => {
    const key = nextKey.current++
    const { id, text } = file
    setUploads((all) => (all.some((each) => each.id === id) ? all : [...all, { ...file, key, progress: 1 }]))
    // The file of a text that belongs elsewhere is made anew in any case.
    if ((text !== undefined && isPageFile(id) !== isOnPage) || !(await isGone(id))) return
    change(key, { id: undefined, ...(text === undefined && { refusal: t('app.files.expired') }) })
    if (text !== undefined) await upload(key, new File([text], file.name), text)
  }
  const draftFiles = useDraftFiles(draftName, uploads, restoreOne)
  useOtherTexts(listed, isOnPage, remake)
  return {
    uploads,
    add: (files: Iterable<File>) => {
      for (const file of files) void addOne(file)
    },
    /** Makes a file of a text. Resolves with true if the file was taken. */
    addText: (text: string): Promise<boolean> => addOne(new File([text], nameText(uploads)), text),
    remove,
    /** Removes the files that are listed here, and keeps those that were added since. */
    clear: () => {
      draftFiles.forget()
      setUploads((all) => all.filter(({ key }) => !uploads.some((sent) => sent.key === key)))
    },
    isUploading: uploads.some(({ id, refusal }) => id === undefined && refusal === undefined),
    ids: uploads.flatMap(({ id }) => id ?? []),
    /** The uploaded files, to be kept elsewhere. */
    files: listDraftFiles(uploads),
    /** Adds files that were kept elsewhere. */
    restore: (files: readonly DraftFile[]) => {
      for (const file of files) void restoreOne(file)
    },
  }
}

/** Has the files of texts made anew that are uploaded where nothing is, or the other way round. */
function useOtherTexts(uploads: readonly Upload[], isOnPage: boolean, remake: (file: Upload, text: string) => void) {
  // biome-ignore lint/correctness/useExhaustiveDependencies: only the list and the place of its files matter.
  useEffect(() => {
    for (const file of uploads)
      if (file.id !== undefined && file.text !== undefined && isPageFile(file.id) !== isOnPage) remake(file, file.text)
  }, [uploads, isOnPage])
}

/** Refuses a file that is uploaded where nothing is, or the other way round. That of a text is about to be made anew. */
function refuseOtherUpload(upload: Upload, isOnPage: boolean): Upload {
  const { id, text } = upload
  if (id === undefined || isPageFile(id) === isOnPage) return upload
  if (text !== undefined) return { ...upload, id: undefined, progress: 0 }
  return { ...upload, id: undefined, refusal: t(isOnPage ? 'app.temporary.storedFile' : 'app.temporary.pageFile') }
}

interface FileRules {
  maxFileSize?: number
  allowedMimeTypes?: readonly string[]
}

interface QueueOptions {
  store: (file: File, options: UploadOptions, rules: FileRules) => Promise<UploadResult>
  /** Keeps a file that is complete after the form was left. */
  keepLateFile: (file: DraftFile) => Promise<void>
  isInUse: UploadsOptions['isInUse']
}

/** The most bytes of all files of the page, as a question is sent with those of its chat. */
const MAX_PAGE_BYTES = 14 * 1024 * 1024

async function keepOnPage(
  file: File,
  { signal }: UploadOptions,
  { allowedMimeTypes }: FileRules,
): Promise<UploadResult> {
  if (signal?.aborted) return {}
  if (countPageBytes() + file.size > MAX_PAGE_BYTES)
    return { refusal: t('app.temporary.tooManyBytes', { size: formatSize(MAX_PAGE_BYTES) }) }
  const id = await addPageFile(file, allowedMimeTypes)
  if (id === undefined) return { refusal: t('app.files.kind') }
  if (!signal?.aborted) return { id }
  forgetPageFile(id)
  return {}
}

/** Uploads listed files one after the other. */
function useUploadQueue(
  change: (key: number, changes: Partial<Upload>) => void,
  { store, keepLateFile, isInUse }: QueueOptions,
) {
  const { connection } = useSession()
  const queue = useRef<Promise<unknown>>(Promise.resolve())
  const stops = useRef(new Map<number, AbortController>())
  const rules = (connection.configs['storage_files'] ?? {}) as FileRules
  const { maxFileSize = Number.POSITIVE_INFINITY } = rules
  /** Resolves with true if the file was taken. */
  const upload = async (key: number, file: File, text?: string): Promise<boolean> => {
    if (file.size > maxFileSize) {
      change(key, { refusal: t('app.files.tooLarge', { size: formatSize(maxFileSize) }) })
      return false
    }
    const stop = new AbortController()
    stops.current.set(key, stop)
    const { signal } = stop
    const showProgress = (progress: number) => change(key, { progress })
    const endGuard = guardClosing()
    const uploaded = queue.current
      .then(async () => {
        const result = await store(file, { signal, showProgress }, rules)
        if (result.id !== undefined) await keepLateFile(toDraftFile(result.id, file.name, text))
        return result
      })
      // Reading fails for a folder, or a file that was removed; the files behind it are uploaded all the same.
      .catch((): UploadResult => ({ refusal: t('app.files.refused') }))
      .finally(endGuard)
    queue.current = uploaded
    const result = await uploaded
    change(key, result)
    return result.id !== undefined
  }
  /** Ends an upload, and forgets its file if only this page had it. */
  const stop = (key: number, id: string | undefined) => {
    stops.current.get(key)?.abort()
    if (id !== undefined && !isInUse?.(id)) forgetPageFile(id)
  }
  const remake = ({ key, id, name }: Upload, text: string) => {
    stop(key, id)
    change(key, { id: undefined, progress: 0 })
    void upload(key, new File([text], name), text)
  }
  return { upload, remake, stop }
}

/** Returns a name that none of the files has. */
function nameText(uploads: readonly Upload[]): string {
  const names = new Set(uploads.map(({ name }) => name))
  for (let number = 1; ; number++) {
    const name = `${t('app.files.pasted')}${number === 1 ? '' : ` ${number}`}.txt`
    if (!names.has(name)) return name
  }
}

/** An uploaded file of a draft. */
export type DraftFile = Required<Pick<Upload, 'name'>> & { id: string; text?: string }

export const isDraftFile = (value: unknown): value is DraftFile =>
  isRecord(value) && typeof value['id'] === 'string' && typeof value['name'] === 'string'

function parseDraftFiles(text: string): DraftFile[] {
  if (text === '') return []
  const value: unknown = JSON.parse(text)
  return Array.isArray(value) ? value.filter(isDraftFile) : []
}

const toDraftFile = (id: string, name: string, text: string | undefined): DraftFile => ({
  id,
  name,
  ...(text !== undefined && { text }),
})

const listDraftFiles = (uploads: readonly Upload[]): DraftFile[] =>
  uploads.flatMap(({ id, name, text }) => (id === undefined ? [] : toDraftFile(id, name, text)))

function serializeDraftFiles(uploads: readonly Upload[]): string {
  const files = listDraftFiles(uploads)
  return files.length === 0 ? '' : JSON.stringify(files)
}

/** The forms that are shown, by the storage keys of their drafts, which take files that an earlier form has begun. */
const shownForms = new Map<string, (file: DraftFile) => Promise<void>>()

/** Keeps uploaded files in a draft, and restores them once. Returns functions that change the draft. */
function useDraftFiles(draftName: string, uploads: readonly Upload[], restoreOne: (file: DraftFile) => Promise<void>) {
  const { connection, conversationKey } = useSession()
  const draft = useStoredDraft(conversationKey, String(connection.userinfo?.id), `${draftName}:files`)
  const [isRestored, setRestored] = useState(false)
  const latest = useRef({ draft, isShown: true })
  latest.current.draft = draft
  const files = serializeDraftFiles(uploads)
  // biome-ignore lint/correctness/useExhaustiveDependencies: files are restored once.
  useEffect(() => {
    let isCurrent = true
    latest.current.isShown = true
    shownForms.set(draft.storageKey, restoreOne)
    void draft.open().then((text) => {
      if (!isCurrent) return
      setRestored(true)
      for (const file of parseDraftFiles(text)) void restoreOne(file)
    })
    return () => {
      isCurrent = false
      latest.current.isShown = false
      if (shownForms.get(draft.storageKey) === restoreOne) shownForms.delete(draft.storageKey)
    }
  }, [draft])
  useEffect(() => {
    if (isRestored) void draft.save(files)
  }, [draft, files, isRestored])
  return {
    /** Removes the files from the draft. */
    forget: () => draft.remove(),
    /** Adds a file to the draft, or to the form that shows it now, if the form of its upload was left. */
    async keepLateFile(file: DraftFile): Promise<void> {
      const { draft, isShown } = latest.current
      if (isShown) return
      const files = parseDraftFiles(await draft.open())
      if (!shownForms.has(draft.storageKey)) await draft.saveOrHold(JSON.stringify([...files, file]))
      // A form that was opened meanwhile has perhaps read the draft without the file.
      await shownForms.get(draft.storageKey)?.(file)
    },
  }
}

/** The files for the next message, and the actions on them. */
export type Uploads = ReturnType<typeof useUploads>
