import { useNavigate } from '@tanstack/react-router'
import { lazy, Suspense, useEffect, useState } from 'react'
import { focusField } from '../shared/conversation/composer.tsx'
import { focusListSearch } from '../shared/ui/side-list.tsx'
import { useIsNarrow, useSidebar } from '../shared/ui/sidebar-state.ts'

const ShortcutsDialog = lazy(async () => ({ default: (await import('./shortcuts-dialog.tsx')).ShortcutsDialog }))

/** Listens for the shortcuts of all pages, and lists them on demand. */
export function Shortcuts() {
  const navigate = useNavigate()
  const { setOpen } = useSidebar()
  const isNarrow = useIsNarrow()
  const [isListOpen, setListOpen] = useState(false)
  useEffect(() => {
    const actions: Record<Shortcut, () => void> = {
      newChat: () => void navigate({ to: '/chat' }).then(() => focusField('chat')),
      search: () => {
        if (isNarrow) setOpen(true)
        focusListSearch()
      },
      list: () => setListOpen(true),
    }
    const listen = (event: KeyboardEvent) => {
      // A dialog keeps the focus until it is closed.
      if (document.querySelector('[role="dialog"]:not(.drawer), [role="alertdialog"]')) return
      const shortcut = findShortcut(event)
      if (!shortcut) return
      event.preventDefault()
      actions[shortcut]()
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [navigate, isNarrow, setOpen])
  if (!isListOpen) return null
  return (
    <Suspense>
      <ShortcutsDialog close={() => setListOpen(false)} />
    </Suspense>
  )
}

type Shortcut = 'newChat' | 'search' | 'list'

function findShortcut(event: KeyboardEvent): Shortcut | undefined {
  const { code, key, shiftKey, target } = event
  if (!isCommand(event)) return key === '?' && !isWriting(target) ? 'list' : undefined
  if (key === '/') return 'list'
  if (code === 'KeyO' && shiftKey) return 'newChat'
  return code === 'KeyK' && !shiftKey ? 'search' : undefined
}

const isCommand = ({ ctrlKey, metaKey, altKey }: KeyboardEvent) => (ctrlKey || metaKey) && !altKey

/** Returns true for elements that take text. */
const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, textarea, select'))
