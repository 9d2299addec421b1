import { useSyncExternalStore } from 'react'
import type { AiRequest } from '../shared/api/client.ts'

type Parameters = NonNullable<AiRequest['parameters']>

/** How a conversation is led; kept in this browser. */
export interface ChatOptions {
  parameters: Pick<Parameters, 'temperature' | 'maxTokens' | 'effort'>
  /** Whether models may call their tools. */
  areToolsOff?: boolean
}

const defaultOptions: ChatOptions = { parameters: {} }

const getStorageKey = (slug: string | undefined) => `svc:options:${slug ?? 'new'}`

const listeners = new Set<() => void>()
const optionsCache = new Map<string, { text: string | null; options: ChatOptions }>()

/** The same object as long as nothing has changed. */
export function readOptions(slug: string | undefined): ChatOptions {
  const slot = getStorageKey(slug)
  const text = localStorage.getItem(slot)
  const before = optionsCache.get(slot)
  if (before?.text === text) return before.options
  const options = text === null ? defaultOptions : { ...defaultOptions, ...(JSON.parse(text) as Partial<ChatOptions>) }
  optionsCache.set(slot, { text, options })
  return options
}

export function writeOptions(slug: string | undefined, options: ChatOptions): void {
  localStorage.setItem(getStorageKey(slug), JSON.stringify(options))
  for (const listener of listeners) listener()
}

/** What was set before the first question holds for the conversation that began with it. */
export function moveOptions(slug: string): void {
  const text = localStorage.getItem(getStorageKey(undefined))
  if (text === null) return
  localStorage.setItem(getStorageKey(slug), text)
  localStorage.removeItem(getStorageKey(undefined))
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

export const useOptions = (slug: string | undefined): ChatOptions =>
  useSyncExternalStore(subscribe, () => readOptions(slug))
