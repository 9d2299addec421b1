import { useSyncExternalStore } from 'react'
import type { ConversationKey } from '../../shared/crypto/conversation-key.ts'
import { trustWorker } from '../../shared/trusted-worker.ts'
import { refreshConversations } from '../conversations.ts'
import type { ReadFailure } from './export-reader.ts'
import type { Order, Report } from './import-worker.ts'
import workerAddress from './import-worker.ts?worker&url'
import type { ImportedConversation } from './imported.ts'
import { type Loss, type Quota, storeConversation } from './store-conversation.ts'

/** More than this is not read. */
export const MAX_PACKED = 200 * 1024 ** 2

/** What was not taken, or not whole. */
export type Problem = { kind: ReadFailure | 'packed'; name: string; position?: number | undefined } | Loss

/** How far an import is. It goes on while something else is shown. */
export interface ImportState {
  phase: 'running' | 'done' | 'stopped' | 'failed'
  fileName: string
  /** From 0 to 1. */
  progress: number
  /** How many conversations were stored, and how many were there already. */
  stored: number
  known: number
  problems: readonly Problem[]
  /** How many are not listed. */
  unlisted: number
  error?: unknown
}

/** So many are listed. */
const MAX_PROBLEMS = 500

let state: ImportState | undefined
let worker: Worker | undefined
const listeners = new Set<() => void>()

function change(changes: Partial<ImportState>): void {
  if (state) state = { ...state, ...changes }
  for (const listener of listeners) listener()
}

function addProblem(problem: Problem): void {
  if (!state) return
  const { problems, unlisted } = state
  change(problems.length < MAX_PROBLEMS ? { problems: [...problems, problem] } : { unlisted: unlisted + 1 })
}

function end(changes: Pick<ImportState, 'phase' | 'error'>): void {
  if (state?.phase !== 'running') return
  worker?.terminate()
  worker = undefined
  change(changes)
  void refreshConversations()
}

export const stopImport = (): void => end({ phase: 'stopped' })

/** Reads an export in a worker, and stores what it finds, encrypted, one conversation after the other. */
export function startImport(file: File, key: ConversationKey, quota: Quota): void {
  state = { phase: 'running', fileName: file.name, progress: 0, stored: 0, known: 0, problems: [], unlisted: 0 }
  change({})
  if (file.size > MAX_PACKED) {
    addProblem({ kind: 'packed', name: file.name })
    end({ phase: 'done' })
    return
  }
  const reader = startWorker()
  worker = reader
  const send = (order: Order) => reader.postMessage(order)
  reader.addEventListener('error', ({ error, message }) => end({ phase: 'failed', error: error ?? new Error(message) }))
  reader.addEventListener('message', async ({ data }: MessageEvent<Report>) => {
    if (data.type === 'end') return end({ phase: 'done' })
    if (data.type === 'progress') return change({ progress: data.progress })
    if (data.type === 'failure') return addProblem({ kind: data.failure, name: data.file, position: data.position })
    try {
      await take(data.conversation, key, quota, () => worker === reader)
      send('next')
    } catch (error) {
      end({ phase: 'failed', error })
    }
  })
  send({ file })
}

async function take(conversation: ImportedConversation, key: ConversationKey, quota: Quota, isWanted: () => boolean) {
  const { outcome, losses } = await storeConversation(conversation, key, quota, isWanted)
  for (const loss of losses) addProblem(loss)
  if (!state) return
  if (outcome === 'stored') change({ stored: state.stored + 1 })
  if (outcome === 'known') change({ known: state.known + 1 })
}

const startWorker = trustWorker('import-worker', workerAddress)

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** The import that was begun last on this page. */
export const useImport = (): ImportState | undefined => useSyncExternalStore(subscribe, () => state)
