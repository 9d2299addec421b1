import { useState } from 'react'
import { describeError, isNotFound } from '../api/error-text.ts'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import { Dialog, DialogClose } from '../ui/dialog.tsx'
import { Toolbar } from '../ui/toolbar.tsx'
import { AnnouncementText } from './announcement-text.tsx'
import { acceptAnnouncement, useAnnouncementText } from './announcements.ts'

/** Shows an announcement and lets the person accept it. */
export function AnnouncementDialog({ id, close }: { id: string; close: () => void }) {
  const { data, error: unread } = useAnnouncementText(id)
  const [state, setState] = useState<'ready' | 'working' | { error: unknown }>('ready')
  const error = unread ?? (typeof state === 'object' ? state.error : undefined)
  const accept = (version: string) => {
    setState('working')
    acceptAnnouncement(id, version).then(close, (refusal: unknown) => setState({ error: refusal }))
  }
  return (
    <Dialog title={data?.title ?? t('page.working')} close={close}>
      {data && <AnnouncementText text={data.text} />}
      {error !== undefined && error !== null && (
        <p className="error" role="alert">
          {isNotFound(unread) ? t('app.announcement.missing') : describeError(error)}
        </p>
      )}
      <Toolbar align="end">
        <DialogClose>{t('app.close')}</DialogClose>
        {data && (
          <Button kind="primary" disabled={state === 'working'} onClick={() => accept(data.version)}>
            {t('page.announcement.accept')}
          </Button>
        )}
      </Toolbar>
    </Dialog>
  )
}
