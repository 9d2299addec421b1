import { useMemo } from 'react'
import type { Assistant } from '../shared/api/client.ts'
import { findHandles } from '../shared/markdown/mentions.tsx'
import { useAssistants } from '../shared/models/assistants.ts'

/** Returns the published assistants that the person may ask, by name. */
export function useRoomAssistants(): readonly Assistant[] {
  const { data } = useAssistants()
  return useMemo(() => (data ?? []).filter(({ published }) => published !== null), [data])
}

interface MentionedNames {
  assistants: readonly Assistant[]
  /** The handles of the people in the room, in lower case. */
  people: ReadonlySet<string>
  /** The handle of the assistant that was chosen from the suggestions last. */
  chosen: string | undefined
}

/** Finds the assistant that a text asks. The handle of a person names the person, unless the assistant was chosen. */
export function findAskedAssistant(
  text: string,
  { assistants, people, chosen }: MentionedNames,
): Assistant | undefined {
  const mentioned = findHandles(text)
  return assistants.find(({ handle }) => mentioned.has(handle) && (handle === chosen || !people.has(handle)))
}

/** Returns the name of an assistant by its label, as in `helper@3`, or its handle if the person may not use it. */
export function nameAssistant(label: string, assistants: readonly Assistant[]): string {
  const handle = label.replace(/@.*/, '')
  return assistants.find((each) => each.handle === handle)?.name ?? `@${handle}`
}
