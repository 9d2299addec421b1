import { AlertDialog } from '@base-ui/react/alert-dialog'
import { type MouseEvent, type ReactNode, useState } from 'react'
import { t } from '../text/labels.ts'
import { targetOf } from './links.ts'

/** A link that says where it leads; one that could deceive asks first. */
export function Link({ href, words, children }: { href: string; words: string; children: ReactNode }) {
  const target = targetOf(href, words)
  const [isAsking, setAsking] = useState(false)
  if (!target) return <span title={href}>{children}</span>
  const ask = (event: MouseEvent) => {
    event.preventDefault()
    setAsking(true)
  }
  return (
    <>
      <a
        href={target.href}
        target="_blank"
        rel="noreferrer noopener nofollow"
        title={target.href}
        {...(target.isSuspicious && { onClick: ask })}
      >
        {children}
      </a>
      {target.isSuspicious && <span className="host"> ({target.host})</span>}
      {isAsking && <LeaveDialog target={target.href} close={() => setAsking(false)} />}
    </>
  )
}

const LeaveDialog = ({ target, close }: { target: string; close: () => void }) => (
  <AlertDialog.Root open onOpenChange={(isOpen) => !isOpen && close()}>
    <AlertDialog.Portal>
      <AlertDialog.Backdrop className="backdrop" />
      <AlertDialog.Popup className="dialog">
        <AlertDialog.Title>{t('app.link.title')}</AlertDialog.Title>
        <AlertDialog.Description className="address">{target}</AlertDialog.Description>
        <p className="actions">
          <AlertDialog.Close className="quiet-button">{t('page.cancel')}</AlertDialog.Close>
          <a className="button" href={target} target="_blank" rel="noreferrer noopener nofollow" onClick={close}>
            {t('app.link.open')}
          </a>
        </p>
      </AlertDialog.Popup>
    </AlertDialog.Portal>
  </AlertDialog.Root>
)
