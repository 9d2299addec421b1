import { AlertDialog } from '@base-ui/react/alert-dialog'
import { useEffect } from 'react'
import { api, queryClient } from '../shared/api/client.ts'
import { setSessionEnded } from '../shared/api/session-end.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'

const { brand = '' } = document.documentElement.dataset

/**
 * Says that the session has ended. The person signs in in another tab, so that this page keeps its state, and continues
 * here.
 */
export function SessionEndDialog() {
  const { connection } = useSession()
  const person = connection.userinfo?.id
  useEffect(() => {
    const check = () => void resumeSession(person)
    addEventListener('focus', check)
    document.addEventListener('visibilitychange', check)
    return () => {
      removeEventListener('focus', check)
      document.removeEventListener('visibilitychange', check)
    }
  }, [person])
  return (
    <AlertDialog.Root open>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title>{t('app.sessionEnd.title')}</AlertDialog.Title>
          <AlertDialog.Description>{t('app.sessionEnd.text')}</AlertDialog.Description>
          <p className="actions">
            <button type="button" className="quiet-button" onClick={() => resumeSession(person)}>
              {t('app.sessionEnd.done')}
            </button>
            <a className="button" href="/login?ended=1&redirectUri=%2Fchat" target="_blank" rel="noreferrer">
              {t('app.sessionEnd.signIn')}
            </a>
          </p>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  )
}

/** Continues if the same person has signed in again, and reloads the page for somebody else. */
async function resumeSession(person: number | undefined): Promise<void> {
  const { connectionType, userinfo } = await api.connections.get.query({ id: brand })
  if (connectionType !== 'internal_authenticated') return
  if (userinfo?.id !== person) return location.reload()
  setSessionEnded(false)
  await queryClient.invalidateQueries()
}
