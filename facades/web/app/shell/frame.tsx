import { Outlet } from '@tanstack/react-router'
import { Suspense, useState } from 'react'
import { SessionProvider } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { SidebarContext } from '../shared/ui/sidebar-state.ts'
import { SessionEndDialog } from './session-end-dialog.tsx'
import { useShortcuts } from './shortcuts.ts'
import { Sidebar } from './sidebar.tsx'
import './frame.css'

/** The frame of every view: where one can go at the side, and what one looks at. */
export function Frame() {
  const [isOpen, setOpen] = useState(false)
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
          <SessionEndDialog />
        </SidebarContext>
      </SessionProvider>
    </Suspense>
  )
}
