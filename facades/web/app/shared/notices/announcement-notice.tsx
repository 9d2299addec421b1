import { lazy, Suspense, useState } from 'react'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
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
    <Notice kind={first.isForced ? 'warning' : 'info'} layout="row">
      <span>{first.isForced ? t('app.announcement.forced', { title: first.title }) : first.title}</span>
      <Button onClick={() => setOpen(true)}>{t('app.announcement.read')}</Button>
      {isOpen && (
        <Suspense>
          <AnnouncementDialog id={first.id} close={() => setOpen(false)} />
        </Suspense>
      )}
    </Notice>
  )
}
