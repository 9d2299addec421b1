import { type KeyboardEvent, type RefObject, useId, useState } from 'react'
import { flushSync } from 'react-dom'
import type { Completion } from '../shared/conversation/composer.tsx'
import { findHandles } from '../shared/markdown/mentions.tsx'
import { t } from '../shared/text/labels.ts'
import { foldText } from '../shared/text/word-pattern.ts'
import { Avatar } from '../shared/ui/avatar.tsx'
import styles from './mention-list.module.css'
import { getAiHandle } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { getMemberName, getPicture, listPeople } from './room-members.ts'

interface Suggestion {
  handle: string
  name: string
  picture?: string | null
  icon?: 'sparkle'
}

interface MentionCompletion extends Completion {
  suggestions: readonly Suggestion[]
  active: number
  choose: (handle: string) => void
}

const MAX_SUGGESTIONS = 5

/** Suggests people and the model for the word after `@` before the caret; undefined if there is nothing to suggest. */
export function useMentionCompletion(
  text: string,
  field: RefObject<HTMLTextAreaElement | null>,
  write: (text: string) => void,
): MentionCompletion | undefined {
  const listId = useId()
  const candidates = useCandidates()
  const [choice, setChoice] = useState({ for: '', active: 0, isClosed: false })
  const before = text.slice(0, field.current?.selectionStart ?? text.length)
  const typed = findTyped(before)
  const suggestions = typed === undefined ? [] : findSuggestions(candidates, typed)
  if (typed === undefined || suggestions.length === 0) return undefined
  const { active, isClosed } = choice.for === before ? choice : { active: 0, isClosed: false }
  if (isClosed) return undefined
  const choose = (handle: string) => {
    const start = before.slice(0, before.length - typed.length)
    // The field has the new text at once, so that the caret is set before anything else is typed.
    flushSync(() => write(`${start}${handle} ${text.slice(before.length).replace(/^ /, '')}`))
    const caret = start.length + handle.length + 1
    field.current?.focus()
    field.current?.setSelectionRange(caret, caret)
  }
  const highlight = (index: number) =>
    setChoice({ for: before, active: (index + suggestions.length) % suggestions.length, isClosed: false })
  const keys: Record<string, () => void> = {
    ArrowDown: () => highlight(active + 1),
    ArrowUp: () => highlight(active - 1),
    Escape: () => setChoice({ for: before, active, isClosed: true }),
    Enter: () => choose(suggestions[active]?.handle ?? ''),
    Tab: () => choose(suggestions[active]?.handle ?? ''),
  }
  const handleKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    const act = event.shiftKey || event.nativeEvent.isComposing ? undefined : keys[event.key]
    if (!act) return
    event.preventDefault()
    // Escape would close the panel of a thread as well.
    event.stopPropagation()
    act()
  }
  return { listId, activeId: `${listId}-${active}`, handleKey, suggestions, active, choose }
}

/** Returns what is typed of a handle at the end of a text, except in code and quotations. */
function findTyped(before: string): string | undefined {
  const typed = /(?:^|[\s(])@([\p{L}\p{N}_.-]*)$/u.exec(before)?.[1]
  // A letter makes a handle of what may not be one yet.
  return typed !== undefined && findHandles(`${before}x`).has(`${typed}x`.toLowerCase()) ? typed : undefined
}

/** Lists whom a message can mention. */
function useCandidates(): readonly Suggestion[] {
  const { session } = useRoom()
  const members = useRoomView((view) => view.members)
  const ownMemberId = useRoomView((view) => view.ownMember?.id)
  const people = listPeople(members)
    .filter(({ id }) => id !== ownMemberId)
    .map((member) => ({ handle: member.username ?? '', name: getMemberName(member), picture: getPicture(member) }))
  return [{ handle: getAiHandle(session), name: t('app.rooms.aModel'), icon: 'sparkle' }, ...people]
}

/** Lists the candidates that begin so, first the one that is typed wholly. It is not suggested alone. */
function findSuggestions(candidates: readonly Suggestion[], typed: string): readonly Suggestion[] {
  const needle = foldText(typed)
  const isTyped = ({ handle }: Suggestion) => handle.toLowerCase() === needle
  const found = candidates
    .filter(({ handle, name }) => [handle, name].some((word) => foldText(word).startsWith(needle)))
    .toSorted((one, other) => Number(isTyped(other)) - Number(isTyped(one)))
  return found.every(isTyped) ? [] : found.slice(0, MAX_SUGGESTIONS)
}

/** The suggestions above the field. The focus stays in the field. */
export const MentionList = ({ listId, suggestions, active, choose }: MentionCompletion) => (
  <div id={listId} role="listbox" className={styles.mentions} aria-label={t('app.rooms.mention')}>
    {suggestions.map(({ handle, name, picture, icon }, index) => (
      // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
      <div
        key={handle}
        id={`${listId}-${index}`}
        role="option"
        tabIndex={-1}
        aria-selected={index === active}
        className={styles.suggestion}
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => choose(handle)}
      >
        <Avatar name={name} picture={picture} icon={icon} size="small" />
        <span>
          {name} <span className="hint">@{handle}</span>
        </span>
      </div>
    ))}
  </div>
)
