import { useQuery } from '@tanstack/react-query'
import type { Client } from '../../../client/index.ts'
import { api } from '../shared/api/client.ts'
import { findHandles } from '../shared/markdown/mentions.tsx'

export type RoomAssistant = Awaited<ReturnType<Client['assistants']['list']['query']>>['assistants'][number]

const PAGE_SIZE = 200
const noAssistants: readonly RoomAssistant[] = []

/** Returns the published assistants that the person may ask, by name. */
export function useRoomAssistants(): readonly RoomAssistant[] {
  const { data = noAssistants } = useQuery({
    queryKey: ['assistants', 'rooms'],
    staleTime: 5 * 60_000,
    queryFn: async ({ signal }): Promise<RoomAssistant[]> => {
      const all: RoomAssistant[] = []
      for (;;) {
        const input = { limit: PAGE_SIZE, offset: all.length }
        const { assistants, total } = await api.assistants.list.query(input, { signal })
        all.push(...assistants)
        if (assistants.length < PAGE_SIZE || all.length >= total)
          return all.filter(({ published }) => published !== null)
      }
    },
  })
  return data
}

interface MentionedNames {
  assistants: readonly RoomAssistant[]
  /** The handles of the people in the room, in lower case. */
  people: ReadonlySet<string>
  /** The handle of the assistant that was chosen from the suggestions last. */
  chosen: string | undefined
}

/** Finds the assistant that a text asks. The handle of a person names the person, unless the assistant was chosen. */
export function findAskedAssistant(
  text: string,
  { assistants, people, chosen }: MentionedNames,
): RoomAssistant | undefined {
  const mentioned = findHandles(text)
  return assistants.find(({ handle }) => mentioned.has(handle) && (handle === chosen || !people.has(handle)))
}

/** Returns the name of an assistant by its label, as in `helper@3`, or its handle if the person may not use it. */
export function nameAssistant(label: string, assistants: readonly RoomAssistant[]): string {
  const handle = label.replace(/@.*/, '')
  return assistants.find((each) => each.handle === handle)?.name ?? `@${handle}`
}
