import { lazy, Suspense, useState } from 'react'
import { t } from '../text/labels.ts'
import { usePendingAnnouncements } from './announcements.ts'

const AnnouncementDialog = lazy(async () => ({
  default: (await import('./announcement-dialog.tsx')).AnnouncementDialog,
}))

/** Offers the first pending announcement. A forced one blocks sending until it is accepted. */
export function AnnouncementNotice() {
  const [first] = usePendingAnnouncements()
  const [isOpen, setOpen] = useState(false)
  if (!first) return null
  return (
    <div className={first.isForced ? 'notice warn announcement' : 'notice announcement'}>
      <span>{first.isForced ? t('app.announcement.forced', { title: first.title }) : first.title}</span>
      <button type="button" className="quiet-button" onClick={() => setOpen(true)}>
        {t('app.announcement.read')}
      </button>
      {isOpen && (
        <Suspense>
          <AnnouncementDialog id={first.id} close={() => setOpen(false)} />
        </Suspense>
      )}
    </div>
  )
}
