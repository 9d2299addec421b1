import { Dialog } from '@base-ui/react/dialog'
import { useState } from 'react'
import { acceptAnnouncement, useAnnouncementText, usePendingAnnouncements } from '../shared/announcements.ts'
import { errorText } from '../shared/api/error-text.ts'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { t } from '../shared/text/labels.ts'

/** Offers what is still to be accepted; where it must be, nothing can be sent before. */
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
      {isOpen && <AnnouncementDialog id={first.id} close={() => setOpen(false)} />}
    </div>
  )
}

/** What a text calls its buttons, for front ends that make them of it. */
const buttons = /\[(?:CONFIRM|DECLINE)\]\([^)]*\)/g

function AnnouncementDialog({ id, close }: { id: string; close: () => void }) {
  const { data, error: unread } = useAnnouncementText(id)
  const [refused, setRefused] = useState<unknown>()
  const error = unread ?? refused
  return (
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{data?.title ?? t('page.working')}</Dialog.Title>
          {data && <Markdown text={data.text.replace(buttons, '')} />}
          {error !== undefined && error !== null && (
            <p className="wrong" role="alert">
              {errorText(error)}
            </p>
          )}
          <p className="actions">
            <Dialog.Close className="quiet-button">{t('app.close')}</Dialog.Close>
            {data && (
              <button
                type="button"
                className="button"
                onClick={() => acceptAnnouncement(id, data.version).then(close, setRefused)}
              >
                {t('page.announcement.accept')}
              </button>
            )}
          </p>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
