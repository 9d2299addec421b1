import { useEffect, useState } from 'react'
import { queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { setSessionEnded } from '../shared/api/session-end.ts'
import { confirmPerson, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button, getButtonClass } from '../shared/ui/button.tsx'
import { Dialog, DialogText } from '../shared/ui/dialog.tsx'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'

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
    <Dialog isAlert title={t('app.sessionEnd.title')}>
      <DialogText>{t('app.sessionEnd.text')}</DialogText>
      <ErrorMessage error={error} />
      <Toolbar align="end">
        <Button onClick={() => void resume().catch(setError)}>{t('app.sessionEnd.done')}</Button>
        <a
          className={getButtonClass('primary')}
          href="/login?ended=1&redirectUri=%2Fchat"
          target="_blank"
          rel="noreferrer"
        >
          {t('app.sessionEnd.signIn')}
        </a>
      </Toolbar>
    </Dialog>
  )
}

/** Continues if the same person has signed in again. Returns false otherwise. */
async function resumeSession(person: number | undefined): Promise<boolean> {
  if (!(await confirmPerson(person))) return false
  setSessionEnded(false)
  await queryClient.invalidateQueries()
  return true
}
