import { Outlet } from '@tanstack/react-router'
import { lazy, Suspense, useState } from 'react'
import { useSessionEnd } from '../shared/api/session-end.ts'
import { SessionProvider } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { SidebarContext } from '../shared/ui/sidebar-state.ts'
import { useShortcuts } from './shortcuts.ts'
import { Sidebar } from './sidebar.tsx'
import './frame.css'

const SessionEndDialog = lazy(async () => ({ default: (await import('./session-end-dialog.tsx')).SessionEndDialog }))

/** The frame of every view: where one can go at the side, and what one looks at. */
export function Frame() {
  const [isOpen, setOpen] = useState(false)
  const hasEnded = useSessionEnd()
  useShortcuts()
  return (
    <Suspense fallback={<p className="waiting">{t('page.working')}</p>}>
      <SessionProvider>
        <SidebarContext value={{ isOpen, setOpen }}>
          <a className="skip" href="#main">
            {t('page.skip')}
          </a>
          <div className="frame">
            <Sidebar />
            <Outlet />
          </div>
          {hasEnded && (
            <Suspense>
              <SessionEndDialog />
            </Suspense>
          )}
        </SidebarContext>
      </SessionProvider>
    </Suspense>
  )
}
