import type { Caller } from './caller.ts'

const listBindings = (caller: Caller) => (caller.type === 'user' ? caller.token?.models : undefined)

/** Returns the sorted names of the models that the caller's token may ask by their own names; null for all. */
export function listBoundModels(caller: Caller): string[] | null {
  const bindings = listBindings(caller)
  if (!bindings) return null
  return bindings.flatMap(({ name, assistantId }) => (assistantId === undefined ? name : [])).sort()
}

/** Returns the ids of the assistants that the caller's token may ask; null for all. */
export function listBoundAssistants(caller: Caller): number[] | null {
  return listBindings(caller)?.flatMap(({ assistantId }) => assistantId ?? []) ?? null
}

/** Returns true if the caller's token may ask the model by its name. */
export const canNameModel = (caller: Caller, name: string): boolean => listBoundModels(caller)?.includes(name) ?? true

/** Returns true if the caller's token may ask each version of the assistant. */
export const canNameAssistant = (caller: Caller, id: number): boolean =>
  listBoundAssistants(caller)?.includes(id) ?? true
