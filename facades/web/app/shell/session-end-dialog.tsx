import { AlertDialog } from '@base-ui/react/alert-dialog'
import { useEffect, useState } from 'react'
import { queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { setSessionEnded } from '../shared/api/session-end.ts'
import { confirmPerson, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'

/**
 * Says that the session has ended. The person signs in in another tab, so that this page keeps its state, and continues
 * here.
 */
export function SessionEndDialog() {
  const { connection } = useSession()
  const person = connection.userinfo?.id
  const [error, setError] = useState<unknown>()
  useEffect(() => {
    const check = () => void resumeSession(person).catch(setError)
    addEventListener('focus', check)
    document.addEventListener('visibilitychange', check)
    return () => {
      removeEventListener('focus', check)
      document.removeEventListener('visibilitychange', check)
    }
  }, [person])
  const resume = async () => {
    setError(undefined)
    if (!(await resumeSession(person))) throw new InputError(t('app.sessionEnd.notYet'))
  }
  return (
    <AlertDialog.Root open>
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className="backdrop" />
        <AlertDialog.Popup className="dialog">
          <AlertDialog.Title>{t('app.sessionEnd.title')}</AlertDialog.Title>
          <AlertDialog.Description>{t('app.sessionEnd.text')}</AlertDialog.Description>
          <ErrorMessage error={error} />
          <p className="actions">
            <button type="button" className="quiet-button" onClick={() => void resume().catch(setError)}>
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

/** Continues if the same person has signed in again. Returns false otherwise. */
async function resumeSession(person: number | undefined): Promise<boolean> {
  if (!(await confirmPerson(person))) return false
  setSessionEnded(false)
  await queryClient.invalidateQueries()
  return true
}
