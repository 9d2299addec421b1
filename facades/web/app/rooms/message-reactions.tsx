import { type ComponentProps, type KeyboardEvent, useLayoutEffect, useRef, useState } from 'react'
import { formatNames } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { InlineError } from '../shared/ui/error-message.tsx'
import { IconButton } from '../shared/ui/icon-button.tsx'
import styles from './message-reactions.module.css'
import { canWrite } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { getMemberName } from './room-members.ts'
import { offeredReactions, type Reaction } from './room-reactions.ts'

const noReactions: readonly Reaction[] = []

/** Returns a function that adds or removes a reaction of the person and resolves with its success, and its last error. */
function useToggle(message: string) {
  const { store } = useRoom()
  const [error, setError] = useState<unknown>()
  const toggle = (emoji: string) => {
    setError(undefined)
    return store.toggleReaction(message, emoji).then(
      () => true,
      (problem: unknown) => {
        setError(problem)
        return false
      },
    )
  }
  return { toggle, error }
}

/** The reactions to a message, each with its number. A click adds or removes the person's own. */
export function MessageReactions({ message }: { message: string }) {
  const reactions = useRoomView((view) => view.reactions.get(message) ?? noReactions)
  const members = useRoomView((view) => view.members)
  const ownMember = useRoomView((view) => view.ownMember?.id)
  const isWriter = useRoomView(({ room }) => room !== undefined && canWrite(room))
  const { toggle, error } = useToggle(message)
  if (reactions.length === 0) return null
  const getName = ({ member, name }: Reaction) => {
    const current = members.get(member)
    return current ? getMemberName(current) : name || t('app.rooms.somebody')
  }
  return (
    <div className={styles.reactions}>
      {[...Map.groupBy(reactions, ({ emoji }) => emoji)].map(([emoji, of]) => {
        // A browser may have sent a reaction twice.
        const names = formatNames([...new Set(of.map(getName))])
        const count = new Set(of.map(({ member }) => member)).size
        return (
          <ReactionButton
            key={emoji}
            aria-pressed={of.some(({ member }) => member === ownMember)}
            aria-label={t('app.rooms.reactedBy', { emoji, count, names })}
            title={names}
            disabled={!isWriter}
            onClick={() => void toggle(emoji)}
          >
            {emoji} <span>{count}</span>
          </ReactionButton>
        )
      })}
      <InlineError error={error} />
    </div>
  )
}

/** A reaction. When it goes, its focus moves to the one beside it, or to the button that adds another one. */
function ReactionButton(props: ComponentProps<'button'>) {
  const button = useRef<HTMLButtonElement>(null)
  useLayoutEffect(() => {
    const element = button.current
    return () => {
      if (element && element === document.activeElement) findNeighbour(element)?.focus()
    }
  }, [])
  return <button type="button" className={styles.reaction} ref={button} {...props} />
}

const findNeighbour = (button: HTMLElement): HTMLElement | null | undefined =>
  [button.nextElementSibling, button.previousElementSibling].find((each) => each instanceof HTMLButtonElement) ??
  button.closest('article')?.querySelector<HTMLElement>('[data-adds-reactions]')

/** A button that shows the reactions that can be added to a message, until one is chosen or the focus is elsewhere. */
export function ReactionPicker({ message }: { message: string }) {
  const [isOpen, setOpen] = useState(false)
  const picker = useRef<HTMLSpanElement>(null)
  const button = useRef<HTMLButtonElement>(null)
  const close = () => {
    if (picker.current?.contains(document.activeElement)) button.current?.focus()
    setOpen(false)
  }
  const closeOnEscape = (event: KeyboardEvent) => {
    if (!isOpen || event.key !== 'Escape') return
    // The panel of a thread would close as well.
    event.stopPropagation()
    close()
  }
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: the keys and the focus are those of the buttons in it.
    <span
      className={styles.picker}
      ref={picker}
      onKeyDown={closeOnEscape}
      onBlur={({ currentTarget, relatedTarget }) => !currentTarget.contains(relatedTarget) && setOpen(false)}
    >
      <IconButton
        icon="smile"
        label={t('app.rooms.react')}
        data-adds-reactions
        aria-expanded={isOpen}
        ref={button}
        onClick={() => {
          // Safari focuses no button that is clicked.
          button.current?.focus()
          setOpen(!isOpen)
        }}
      />
      {isOpen && <Choices message={message} close={close} />}
    </span>
  )
}

function Choices({ message, close }: { message: string; close: () => void }) {
  const { toggle, error } = useToggle(message)
  return (
    <fieldset
      className={styles.choices}
      aria-label={t('app.rooms.react')}
      // In Safari a click would take the focus from the button, and so close the picker.
      onMouseDown={(event) => event.preventDefault()}
    >
      {offeredReactions.map((emoji) => (
        <button
          key={emoji}
          type="button"
          className={styles.choice}
          onClick={() => void toggle(emoji).then((isDone) => isDone && close())}
        >
          {emoji}
        </button>
      ))}
      <InlineError error={error} />
    </fieldset>
  )
}
