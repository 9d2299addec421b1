import { useSyncExternalStore } from 'react'
import type { AiRequest } from '../shared/api/client.ts'
import { Listeners } from '../shared/listeners.ts'

type Parameters = NonNullable<AiRequest['parameters']>

/** Parameters of a conversation, which are stored in this browser. */
export interface ChatOptions {
  parameters: Pick<Parameters, 'temperature' | 'maxTokens' | 'effort'>
  /** True if models may not call their tools. */
  areToolsOff?: boolean
}

const defaultOptions: ChatOptions = { parameters: {} }

const getStorageKey = (slug: string | undefined) => `svc:options:${slug ?? 'new'}`

const listeners = new Listeners()
const optionsCache = new Map<string, { text: string | null; options: ChatOptions }>()

/** Returns the same object until the options change, as `useSyncExternalStore` requires. */
export function readOptions(slug: string | undefined): ChatOptions {
  const storageKey = getStorageKey(slug)
  const text = localStorage.getItem(storageKey)
  const cached = optionsCache.get(storageKey)
  if (cached?.text === text) return cached.options
  const options = text === null ? defaultOptions : { ...defaultOptions, ...(JSON.parse(text) as Partial<ChatOptions>) }
  optionsCache.set(storageKey, { text, options })
  return options
}

export function writeOptions(slug: string | undefined, options: ChatOptions): void {
  localStorage.setItem(getStorageKey(slug), JSON.stringify(options))
  listeners.notify()
}

/** Moves the options that were set before the first question to the new conversation. */
export function moveOptions(slug: string): void {
  const text = localStorage.getItem(getStorageKey(undefined))
  if (text === null) return
  localStorage.setItem(getStorageKey(slug), text)
  localStorage.removeItem(getStorageKey(undefined))
}

export const useOptions = (slug: string | undefined): ChatOptions =>
  useSyncExternalStore(listeners.subscribe, () => readOptions(slug))
