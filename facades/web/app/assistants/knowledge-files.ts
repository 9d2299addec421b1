import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import { api, queryClient } from '../shared/api/client.ts'
import { setSessionEnded } from '../shared/api/session-end.ts'
import { guardClosing } from '../shared/closing-guard.ts'
import { useSession } from '../shared/session.tsx'
import { formatSize } from '../shared/text/file-size.ts'
import { t } from '../shared/text/labels.ts'

const KNOWLEDGE_KEY = 'knowledge'

/** Milliseconds between two looks at files that are being read. */
const LOOK_MS = 1500

/** Milliseconds between two looks at files that have waited for an hour. */
const LATE_LOOK_MS = 30_000

/** The most files of an answer of the service. */
export const PAGE_SIZE = 200

export type KnowledgeFile = Awaited<ReturnType<typeof api.knowledge.files.query>>['files'][number]

export const useOwnKnowledge = () =>
  useQuery({
    queryKey: [KNOWLEDGE_KEY, 'list'],
    queryFn: ({ signal }) => api.knowledge.list.query(undefined, { signal }),
  })

/** Creates knowledge with a name that none of the person has yet. */
export async function createKnowledge(name: string, taken: readonly string[]): Promise<number> {
  let free = name
  for (let number = 2; taken.includes(free); number++) free = `${name} ${number}`
  const { id } = await api.knowledge.create.mutate({ name: free })
  await refreshKnowledge()
  return id
}

const refreshKnowledge = () => queryClient.invalidateQueries({ queryKey: [KNOWLEDGE_KEY] })

const isPending = ({ state }: KnowledgeFile): boolean => state === 'waiting' || state === 'reading'

const isEmbedding = ({ embedding }: KnowledgeFile): boolean => embedding?.state === 'pending'

/** Returns when to look again: soon while something is under way, and later while it waits. */
function chooseLook(files: readonly KnowledgeFile[]): number | false {
  const moving = files.filter((file) => isPending(file) || isEmbedding(file))
  if (moving.length === 0) return false
  return moving.every(({ embedding }) => embedding?.isLate) ? LATE_LOOK_MS : LOOK_MS
}

/** Reads a page of the files of knowledge, counted from 0, and again while some of them are read or embedded. */
export const useKnowledgeFiles = (id: number, page: number) =>
  useQuery({
    queryKey: [KNOWLEDGE_KEY, 'files', id, page],
    queryFn: ({ signal }) => api.knowledge.files.query({ id, limit: PAGE_SIZE, offset: page * PAGE_SIZE }, { signal }),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) => chooseLook(state.data?.files ?? []),
  })

/** Removes a file, also one that is not read yet. */
export async function removeFile(id: number, file: KnowledgeFile): Promise<void> {
  const ref = { id, file: file.id }
  await (isPending(file) ? api.knowledge.cancel.mutate(ref) : api.knowledge.deleteFile.mutate(ref)).finally(
    refreshKnowledge,
  )
}

/** A file on its way to the service, or one that the service has refused. */
export interface KnowledgeUpload {
  key: number
  name: string
  /** From 0 to 1. */
  progress: number
  refusal?: string
}

/** Uploads files two at a time. A file of the same name is replaced once the new one is read. */
export function useKnowledgeUploads(id: number) {
  const { connection } = useSession()
  const [uploads, setUploads] = useState<readonly KnowledgeUpload[]>([])
  const nextKey = useRef(0)
  const stops = useRef(new Map<number, AbortController>())
  const lanes = useRef([Promise.resolve(), Promise.resolve()])
  const rules = (connection.configs['storage_files'] ?? {}) as { maxFileSize?: number }
  const { maxFileSize = Number.POSITIVE_INFINITY } = rules
  const change = (key: number, members: Partial<KnowledgeUpload>) =>
    setUploads((all) => all.map((each) => (each.key === key ? { ...each, ...members } : each)))
  const forget = (key: number) => {
    stops.current.get(key)?.abort()
    stops.current.delete(key)
    setUploads((all) => all.filter((each) => each.key !== key))
  }
  const send = async (key: number, file: File, signal: AbortSignal) => {
    if (signal.aborted) return
    const refusal =
      file.size > maxFileSize
        ? t('app.files.tooLarge', { size: formatSize(maxFileSize) })
        : await putFile(id, file, { signal, showProgress: (progress) => change(key, { progress }) })
    if (refusal !== undefined) return change(key, { refusal })
    await refreshKnowledge()
    forget(key)
  }
  const add = (files: Iterable<File>) => {
    for (const file of files) {
      const key = nextKey.current++
      const stop = new AbortController()
      stops.current.set(key, stop)
      setUploads((all) => [...all, { key, name: file.name, progress: 0 }])
      const lane = key % lanes.current.length
      const endGuard = guardClosing()
      lanes.current[lane] = (lanes.current[lane] ?? Promise.resolve())
        .then(() => send(key, file, stop.signal))
        .finally(endGuard)
    }
  }
  return { uploads, add, forget }
}

interface PutOptions {
  signal: AbortSignal
  showProgress: (progress: number) => void
}

/** Uploads a file; returns the reason of a refusal. Uses XMLHttpRequest, as `fetch` reports no upload progress. */
function putFile(id: number, file: File, { signal, showProgress }: PutOptions): Promise<string | undefined> {
  const request = new XMLHttpRequest()
  const input = JSON.stringify({ id, path: file.name })
  request.open('PUT', `/trpc/knowledge.upload?input=${encodeURIComponent(input)}`)
  request.setRequestHeader('content-type', 'application/octet-stream')
  request.responseType = 'json'
  request.upload.onprogress = ({ loaded, total }) => showProgress(total > 0 ? loaded / total : 0)
  signal.addEventListener('abort', () => request.abort(), { once: true })
  return new Promise((resolve) => {
    request.onload = () => {
      if (request.status === 401) setSessionEnded(true)
      resolve(request.status < 300 ? undefined : explainRefusal(request))
    }
    request.onerror = () => resolve(t('page.error.offline'))
    request.onabort = () => resolve(undefined)
    request.send(file)
  })
}

function explainRefusal({ status, response }: XMLHttpRequest): string {
  if (status === 413) return t('app.files.tooLargeForService')
  if (status === 415) return t('app.knowledge.noText')
  const { error } = (response ?? {}) as { error?: { data?: { problem?: string } } }
  return t(error?.data?.problem === 'quota_reached' ? 'app.knowledge.full' : 'app.files.refused')
}
