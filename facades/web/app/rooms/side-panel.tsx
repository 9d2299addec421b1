import { type ComponentProps, type ReactNode, useEffect, useId, useRef } from 'react'
import { t } from '../shared/text/labels.ts'
import { IconButton } from '../shared/ui/icon-button.tsx'
import styles from './side-panel.module.css'

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
      className={styles.panel}
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

/** The content of a panel, which scrolls. */
export const PanelBody = (props: Omit<ComponentProps<'div'>, 'className' | 'tabIndex'>) => (
  // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable areas must be reachable by keyboard.
  <div className={styles.body} tabIndex={0} {...props} />
)

/** On touch screens a focused field would open the on-screen keyboard. */
const isMouse = matchMedia('(pointer: fine)')
