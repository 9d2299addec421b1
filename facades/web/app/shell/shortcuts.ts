import { useNavigate } from '@tanstack/react-router'
import { useEffect } from 'react'

/** A new chat is one key away. */
export function useShortcuts(): void {
  const navigate = useNavigate()
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if (!(event.ctrlKey || event.metaKey) || !event.shiftKey || event.code !== 'KeyO') return
      event.preventDefault()
      void navigate({ to: '/chat' })
    }
    addEventListener('keydown', listen)
    return () => removeEventListener('keydown', listen)
  }, [navigate])
}
