import { type KeyboardEvent, type RefObject, useId, useState } from 'react'
import { flushSync } from 'react-dom'
import type { Completion } from '../shared/conversation/composer.tsx'
import { findHandles } from '../shared/markdown/mentions.tsx'
import { t } from '../shared/text/labels.ts'
import { foldText } from '../shared/text/word-pattern.ts'
import { Avatar } from '../shared/ui/avatar.tsx'
import styles from './mention-list.module.css'
import { getAiHandle } from './room.ts'
import { useRoomAssistants } from './room-assistants.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { getMemberName, getPicture, listPeople } from './room-members.ts'

interface Suggestion {
  kind: 'person' | 'model' | 'assistant'
  handle: string
  name: string
  picture?: string | null
  icon?: 'sparkle'
}

interface MentionCompletion extends Completion {
  suggestions: readonly Suggestion[]
  active: number
  choose: (suggestion: Suggestion | undefined) => void
}

const MAX_SUGGESTIONS = 5

/**
 * Suggests people, the model and assistants for the word after `@` before the caret; undefined if there is nothing to
 * suggest.
 */
export function useMentionCompletion(
  text: string,
  field: RefObject<HTMLTextAreaElement | null>,
  write: (text: string) => void,
  /** Is called with the handle of a chosen assistant, as a person may have the same one; otherwise with undefined. */
  chooseAssistant: (handle: string | undefined) => void,
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
  const choose = ({ kind, handle }: Suggestion = { kind: 'person', handle: typed, name: '' }) => {
    chooseAssistant(kind === 'assistant' ? handle : undefined)
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
    Enter: () => choose(suggestions[active]),
    Tab: () => choose(suggestions[active]),
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
  const assistants = useRoomAssistants()
  const people = listPeople(members)
    .filter(({ id }) => id !== ownMemberId)
    .map(
      (member): Suggestion => ({
        kind: 'person',
        handle: member.username ?? '',
        name: getMemberName(member),
        picture: getPicture(member),
      }),
    )
  const named = assistants.map(({ handle, name }): Suggestion => ({ kind: 'assistant', handle, name, icon: 'sparkle' }))
  const model = { kind: 'model', handle: getAiHandle(session), name: t('app.rooms.aModel'), icon: 'sparkle' } as const
  return [model, ...people, ...named]
}

/** Lists the candidates that begin so, first those that are typed wholly. One of these is not suggested alone. */
function findSuggestions(candidates: readonly Suggestion[], typed: string): readonly Suggestion[] {
  const needle = foldText(typed)
  const isTyped = ({ handle }: Suggestion) => handle.toLowerCase() === needle
  const found = candidates
    .filter(({ handle, name }) => [handle, name].some((word) => foldText(word).startsWith(needle)))
    .toSorted((one, other) => Number(isTyped(other)) - Number(isTyped(one)))
  return found.length === 1 && found.every(isTyped) ? [] : found.slice(0, MAX_SUGGESTIONS)
}

/** The suggestions above the field. The focus stays in the field. */
export const MentionList = ({ listId, suggestions, active, choose }: MentionCompletion) => (
  <div id={listId} role="listbox" className={styles.mentions} aria-label={t('app.rooms.mention')}>
    {suggestions.map((suggestion, index) => {
      const { kind, handle, name, picture, icon } = suggestion
      return (
        // biome-ignore lint/a11y/useKeyWithClickEvents: the field handles the keys.
        <div
          key={`${kind} ${handle}`}
          id={`${listId}-${index}`}
          role="option"
          tabIndex={-1}
          aria-selected={index === active}
          className={styles.suggestion}
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => choose(suggestion)}
        >
          <Avatar name={name} picture={picture} icon={icon} size="small" />
          <span>
            {name} <span className="hint">@{handle}</span>
          </span>
        </div>
      )
    })}
  </div>
)
