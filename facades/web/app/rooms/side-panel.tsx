import { type ReactNode, useEffect, useId, useRef } from 'react'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon.tsx'

/** A panel beside the room, or above it on narrow screens. It takes the focus, and returns it when it is closed. */
export function SidePanel({ title, close, children }: { title: string; close: () => void; children: ReactNode }) {
  const id = useId()
  const panel = useRef<HTMLElement>(null)
  useEffect(() => {
    const before = document.activeElement
    const field = isMouse.matches ? panel.current?.querySelector<HTMLElement>('textarea, input[type="search"]') : null
    ;(field ?? panel.current)?.focus()
    return () => {
      if (before instanceof HTMLElement) before.focus()
    }
  }, [])
  return (
    <aside
      className="side-panel"
      ref={panel}
      tabIndex={-1}
      aria-labelledby={id}
      onKeyDown={({ key, nativeEvent }) => {
        // Input methods cancel a composition with the same key.
        if (key === 'Escape' && !nativeEvent.isComposing) close()
      }}
    >
      <header>
        <h2 id={id}>{title}</h2>
        <IconButton icon="close" label={t('app.close')} onClick={close} />
      </header>
      {children}
    </aside>
  )
}

/** On touch screens a focused field would open the on-screen keyboard. */
const isMouse = matchMedia('(pointer: fine)')
