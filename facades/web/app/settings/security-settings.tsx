import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { forgetKeys } from '../../browser/keystore.ts'
import { api, queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { announcePerson } from '../shared/person-change.ts'
import { refreshSession, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'
import { PassphraseForm, RecoveryCode } from './passphrase-settings.tsx'
import { readField, SettingsForm, SettingsSection } from './settings-form.tsx'

/** The password, if the service stores it, and the keys. */
export const SecuritySettings = () => (
  <>
    <PasswordForm />
    <KeyLock />
    <PassphraseForm />
    <RecoveryCode />
    <SettingsSection title={t('app.settings.lostTitle')}>
      <p>{t('app.settings.lost')}</p>
      <p>
        <a className="quiet-button" href="/handshake">
          {t('app.settings.lostGo')}
        </a>
      </p>
    </SettingsSection>
  </>
)

function PasswordForm() {
  const { data } = useQuery({
    queryKey: ['password'],
    queryFn: ({ signal }) => api.password.state.query(undefined, { signal }),
  })
  if (!data?.canChange) return null
  return (
    <SettingsSection title={t('app.settings.passwordTitle')}>
      <p>{t('app.settings.passwordIntro')}</p>
      <SettingsForm
        label={t('app.settings.passwordTitle')}
        submitText={t('app.settings.passwordChange')}
        submit={changePassword}
      >
        <Field
          {...secretField}
          label={t('app.settings.passwordCurrent')}
          name="current"
          autoComplete="current-password"
        />
        <Field
          {...secretField}
          label={t('app.settings.passwordNew')}
          name="next"
          autoComplete="new-password"
          hint={t('app.settings.passwordHint')}
        />
        <Field {...secretField} label={t('app.settings.passwordRepeat')} name="repeated" autoComplete="new-password" />
      </SettingsForm>
    </SettingsSection>
  )
}

const secretField = { type: 'password', required: true, maxLength: 1024 } as const

async function changePassword(form: HTMLFormElement): Promise<string> {
  const newPassword = readField(form, 'next')
  if (newPassword !== readField(form, 'repeated')) throw new InputError(t('app.settings.passwordDiffer'))
  await api.password.change.mutate({ currentPassword: readField(form, 'current'), newPassword })
  form.reset()
  await queryClient.invalidateQueries({ queryKey: ['sessions'] })
  return t('app.settings.passwordChanged')
}

/** Locks the keys in this browser until the passkey is entered again. */
function KeyLock() {
  const { isLocked } = useSession()
  const [hasFailed, setFailed] = useState(false)
  if (isLocked) return null
  const lock = async () => {
    try {
      await forgetKeys()
      announcePerson(null)
      await refreshSession()
    } catch {
      setFailed(true)
    }
  }
  return (
    <SettingsSection title={t('app.settings.keysTitle')}>
      <p>{t('app.settings.unlocked')}</p>
      <p>
        <button type="button" className="quiet-button" onClick={lock}>
          {t('app.settings.lock')}
        </button>
      </p>
      {hasFailed && (
        <p className="wrong" role="alert">
          {t('app.settings.lockFailed')} <a href="/logout">{t('page.signOut')}</a>
        </p>
      )}
    </SettingsSection>
  )
}
