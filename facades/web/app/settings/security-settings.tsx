import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { api, queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { lockKeys, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { Button, getButtonClass } from '../shared/ui/button.tsx'
import { Field } from '../shared/ui/field.tsx'
import { PassphraseForm, RecoveryCode } from './passphrase-settings.tsx'
import { SettingsSection } from './settings-section.tsx'

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
        <a className={getButtonClass()} href="/handshake">
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
      <ActionForm
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
      </ActionForm>
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
  const lock = () => void lockKeys().catch(() => setFailed(true))
  return (
    <SettingsSection title={t('app.settings.keysTitle')}>
      <p>{t('app.settings.unlocked')}</p>
      <p>
        <Button onClick={lock}>{t('app.settings.lock')}</Button>
      </p>
      {hasFailed && (
        <p className="error" role="alert">
          {t('app.settings.lockFailed')} <a href="/logout">{t('page.signOut')}</a>
        </p>
      )}
    </SettingsSection>
  )
}
