import { type ChangeEvent, type CSSProperties, useEffect, useRef } from 'react'
import type { Conversation } from '../shared/api/client.ts'
import { SideRow } from '../shared/ui/side-list.tsx'
import { MAX_SELECTED, selection, useSelected } from './conversation-selection.ts'
import styles from './selectable-row.module.css'

interface SelectableRowProps {
  conversation: Conversation
  /** The conversations of the same list, in order. */
  list: readonly Conversation[]
  style?: CSSProperties | undefined
}

/** A row with a checkbox that selects the conversation, with the shift key a range of the list. */
export function SelectableRow({ conversation, list, style }: SelectableRowProps) {
  const { slug, name } = conversation
  const selected = useSelected()
  const box = useRef<HTMLInputElement>(null)
  const isSelected = selected?.has(slug) ?? false
  const isFull = (selected?.size ?? 0) >= MAX_SELECTED
  useEffect(() => {
    // The menu that began the selection returns the focus to a button that is gone.
    if (selection.takeStart(slug)) requestAnimationFrame(() => box.current?.focus())
  }, [slug])
  const choose = ({ nativeEvent }: ChangeEvent) => {
    if (nativeEvent instanceof MouseEvent && nativeEvent.shiftKey) selection.selectUpTo(conversation, list)
    else selection.toggle(conversation)
  }
  return (
    <SideRow style={style} className={isSelected ? styles.selected : undefined}>
      <label className={styles.choice}>
        <input ref={box} type="checkbox" checked={isSelected} disabled={isFull && !isSelected} onChange={choose} />
        <span dir="auto">{name}</span>
      </label>
    </SideRow>
  )
}
