import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { makeBackup, type Salts, unlock } from '../../browser/crypto.ts'
import { forgetKeys } from '../../browser/keystore.ts'
import { api, type Connection, queryClient } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { announcePerson } from '../shared/person-change.ts'
import { refreshSession, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { readField, SettingsForm, SettingsSection } from './settings-form.tsx'

/** The password, if the service stores it, and the keys. */
export const SecuritySettings = () => (
  <>
    <PasswordForm />
    <KeyLock />
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
  if (isLocked) return null
  const lock = async () => {
    await forgetKeys()
    announcePerson(null)
    await refreshSession()
  }
  return (
    <SettingsSection title={t('app.settings.keysTitle')}>
      <p>{t('app.settings.unlocked')}</p>
      <p>
        <button type="button" className="quiet-button" onClick={lock}>
          {t('app.settings.lock')}
        </button>
      </p>
    </SettingsSection>
  )
}

function RecoveryCode() {
  const { connection } = useSession()
  const [code, setCode] = useState('')
  const canPaste = connection.configs['security']?.['passkeyAllowPaste'] === true
  const createCode = async (form: HTMLFormElement) => {
    setCode('')
    setCode(await renewBackup(connection, readField(form, 'passkey')))
    form.reset()
    return t('page.handshake.codeIntro')
  }
  return (
    <SettingsSection title={t('app.settings.codeTitle')}>
      <p>{t('app.settings.codeIntro')}</p>
      <SettingsForm
        label={t('app.settings.codeTitle')}
        submitText={t('app.settings.codeMake')}
        submit={createCode}
        result={code && <Secret label={t('app.settings.codeTitle')} text={code} copyText={t('page.copy')} />}
      >
        <Field
          {...secretField}
          label={t('page.handshake.passkey')}
          name="passkey"
          autoComplete="current-password"
          hint={canPaste ? t('page.passkey.what') : `${t('page.passkey.what')} ${t('page.handshake.noPaste')}`}
          ref={canPaste ? null : forbidPaste}
        />
      </SettingsForm>
    </SettingsSection>
  )
}

/** Prevents pasting, dropping and yanking into a field; password managers can still fill it. */
function forbidPaste(field: HTMLInputElement): () => void {
  const refuse = (event: InputEvent) => event.inputType.startsWith('insertFrom') && event.preventDefault()
  // React's own `onBeforeInput` does not report pasting.
  field.addEventListener('beforeinput', refuse)
  return () => field.removeEventListener('beforeinput', refuse)
}

/** Creates a recovery code, and encrypts a backup of the passkey with it. Throws if the passkey is wrong. */
async function renewBackup({ salts, userinfo }: Connection, passkey: string): Promise<string> {
  if (!crypto.subtle) throw new InputError(t('page.insecure'))
  if (!salts || !userinfo) throw new InputError(t('page.error'))
  const knownSalts = salts as unknown as Salts
  const { publicKey, validator } = (await api.userKeychainValues.validator.query()).meta
  if (publicKey === null || !(await unlock(passkey, { publicKey, validator }, knownSalts)))
    throw new InputError(t('page.unlock.wrong'))
  const { backupCode, passkeyBackup } = await makeBackup(passkey, userinfo.username, knownSalts)
  await api.passkey.renewBackup.mutate(passkeyBackup)
  return backupCode
}
