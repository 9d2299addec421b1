import { useMemo, useSyncExternalStore } from 'react'
import { getRelatedId } from '../shared/api/related.ts'
import { Listeners } from '../shared/listeners.ts'
import { findHandles, type Handles } from '../shared/markdown/mentions.tsx'
import { t } from '../shared/text/labels.ts'
import { getAiHandles, getOwnId, type Member } from './room.ts'
import { useRoomAssistants } from './room-assistants.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { getMemberName, listPeople } from './room-members.ts'

/**
 * Ids of unread messages that mention the person, by room. They are counted here, as only this browser can decrypt
 * them.
 */
const unreadMentions = new Map<string, ReadonlySet<string>>()
const listeners = new Listeners()

export const useMentions = (room: string): number =>
  useSyncExternalStore(listeners.subscribe, () => unreadMentions.get(room)?.size ?? 0)

export function forgetMentions(room: string): void {
  if (unreadMentions.delete(room)) listeners.notify()
}

export const isMention = (room: string, message: string): boolean => unreadMentions.get(room)?.has(message) ?? false

/** Counts messages of a room as mentions of the person, or no longer. */
export function setMentions(room: string, messages: readonly string[], areMentions: boolean): void {
  if (messages.length === 0) return
  const others = [...(unreadMentions.get(room) ?? [])].filter((id) => !messages.includes(id))
  unreadMentions.set(room, new Set(areMentions ? [...others, ...messages] : others))
  listeners.notify()
}

/** Returns true if a text mentions one of these handles. */
export function mentionsAny(text: string, handles: readonly string[]): boolean {
  const mentioned = findHandles(text)
  return handles.some((handle) => mentioned.has(handle.toLowerCase()))
}

/** Returns the handles of the room: those of its people, those of the model, and those of assistants. */
export function useHandles(): Handles {
  const { session } = useRoom()
  const members = useRoomView((view) => view.members)
  const assistants = useRoomAssistants()
  return useMemo(() => {
    const models = getAiHandles(session).map(
      (handle) => [handle, { name: t('app.rooms.aModel'), isSelf: false }] as const,
    )
    const people = listPeople(members).map(
      (member) => [member.username ?? '', describe(member, getOwnId(session))] as const,
    )
    const named = assistants.map(({ handle, name }) => [handle, { name, isSelf: false }] as const)
    // A person is mentioned by a handle before an assistant is.
    return new Map([...named, ...models, ...people].map(([handle, mentioned]) => [handle.toLowerCase(), mentioned]))
  }, [session, members, assistants])
}

const describe = (member: Member, ownId: string) => ({
  name: getMemberName(member),
  isSelf: getRelatedId(member, 'user') === ownId,
})
