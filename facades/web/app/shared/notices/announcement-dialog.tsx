import { Dialog } from '@base-ui/react/dialog'
import { useState } from 'react'
import { describeError, isNotFound } from '../api/error-text.ts'
import { Markdown } from '../markdown/markdown.tsx'
import { t } from '../text/labels.ts'
import { acceptAnnouncement, useAnnouncementText } from './announcements.ts'

/** Links in the text that other front ends turn into buttons. */
const BUTTON_LINKS = /\[(?:CONFIRM|DECLINE)\]\([^)]*\)/g

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
    <Dialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title>{data?.title ?? t('page.working')}</Dialog.Title>
          {data && <Markdown text={data.text.replace(BUTTON_LINKS, '')} />}
          {error !== undefined && error !== null && (
            <p className="wrong" role="alert">
              {isNotFound(unread) ? t('app.announcement.missing') : describeError(error)}
            </p>
          )}
          <p className="actions">
            <Dialog.Close className="quiet-button">{t('app.close')}</Dialog.Close>
            {data && (
              <button
                type="button"
                className="button"
                disabled={state === 'working'}
                onClick={() => accept(data.version)}
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
