import { useSyncExternalStore } from 'react'
import type { AiRequest } from '../shared/api/client.ts'
import { Listeners } from '../shared/listeners.ts'
import { isRecord, readStored } from '../shared/local-store.ts'

type Parameters = NonNullable<AiRequest['parameters']>

/** Parameters of a conversation, which are stored in this browser. */
export interface ChatOptions {
  parameters: Pick<Parameters, 'temperature' | 'effort'>
  /** True if models may not call their tools. */
  areToolsOff?: boolean
}

const defaultOptions: ChatOptions = { parameters: {} }

/** Identifies the options of a conversation, or those that a person sets before the first question. */
export const getOptionsId = (owner: string, slug: string | undefined): string => slug ?? `${owner}:new`

const getStorageKey = (id: string) => `svc:options:${id}`

const isOptions = (value: unknown): value is ChatOptions => isRecord(value) && isRecord(value['parameters'])

const listeners = new Listeners()
const optionsCache = new Map<string, { text: string | null; options: ChatOptions }>()

/** Returns the same object until the options change, as `useSyncExternalStore` requires. */
export function readOptions(id: string): ChatOptions {
  const storageKey = getStorageKey(id)
  const text = localStorage.getItem(storageKey)
  const cached = optionsCache.get(storageKey)
  if (cached?.text === text) return cached.options
  const options: ChatOptions = { ...defaultOptions, ...readStored(storageKey, isOptions) }
  optionsCache.set(storageKey, { text, options })
  return options
}

export function writeOptions(id: string, options: ChatOptions): void {
  localStorage.setItem(getStorageKey(id), JSON.stringify(options))
  listeners.notify()
}

/** Moves the options that were set before the first question to the new conversation. */
export function moveOptions(owner: string, slug: string): void {
  const storageKey = getStorageKey(getOptionsId(owner, undefined))
  const text = localStorage.getItem(storageKey)
  if (text === null) return
  localStorage.setItem(getStorageKey(slug), text)
  localStorage.removeItem(storageKey)
}

export const useOptions = (id: string): ChatOptions => useSyncExternalStore(listeners.subscribe, () => readOptions(id))
