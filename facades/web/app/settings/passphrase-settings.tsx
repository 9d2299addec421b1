import { useState } from 'react'
import {
  deriveKeychainKey,
  faultTexts,
  findPasskeyFault,
  makeBackup,
  makeWrapping,
  rewrapEntries,
} from '../../browser/crypto/own.ts'
import { storeKey } from '../../browser/keystore.ts'
import { api, type Connection } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { getKeyOwner } from '../shared/conversation-key.ts'
import { isStored, listKnownTexts, readKeyOwner, readPassphraseRules, verifyPassphrase } from '../shared/keychain.ts'
import { announcePerson } from '../shared/person-change.ts'
import { refreshSession, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { PassphraseField } from '../shared/ui/passphrase-field.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { SettingsSection } from './settings-section.tsx'

/** Changes the passphrase that opens the keychain. */
export function PassphraseForm() {
  const { connection } = useSession()
  const [code, setCode] = useState('')
  const { canPaste, isRestricted } = readPassphraseRules(connection)
  const known = listKnownTexts(connection)
  const change = async (form: HTMLFormElement) => {
    setCode('')
    const [current, next] = [readField(form, 'currentPasskey'), readField(form, 'nextPasskey')]
    if (next !== readField(form, 'repeatedPasskey')) throw new InputError(t('app.settings.passphraseDiffer'))
    setCode(await changePassphrase(connection, current, next))
    form.reset()
    return t('app.settings.passphraseChanged')
  }
  return (
    <SettingsSection title={t('app.settings.passphraseTitle')}>
      <p>{t('app.settings.passphraseIntro')}</p>
      <ActionForm
        label={t('app.settings.passphraseTitle')}
        submitText={t('app.settings.passphraseChange')}
        submit={change}
        result={<RecoverySecret code={code} />}
      >
        <PassphraseField
          label={t('app.settings.passphraseCurrent')}
          name="currentPasskey"
          autoComplete="current-password"
          canPaste={canPaste}
        />
        <PassphraseField
          label={t('app.settings.passphraseNew')}
          name="nextPasskey"
          autoComplete="new-password"
          canPaste={canPaste}
          explainsPasting={false}
          hint={t(isRestricted ? 'page.handshake.hint' : 'page.handshake.freeHint')}
          rules={{ isRestricted, known }}
        />
        <PassphraseField
          label={t('app.settings.passphraseRepeat')}
          name="repeatedPasskey"
          autoComplete="new-password"
          canPaste={canPaste}
          explainsPasting={false}
        />
      </ActionForm>
    </SettingsSection>
  )
}

/** Creates a recovery code in place of the one until now. */
export function RecoveryCode() {
  const { connection } = useSession()
  const [code, setCode] = useState('')
  const createCode = async (form: HTMLFormElement) => {
    setCode('')
    setCode(await renewBackup(connection, readField(form, 'passkey')))
    form.reset()
    return t('page.handshake.codeIntro')
  }
  return (
    <SettingsSection title={t('app.settings.codeTitle')}>
      <p>{t('app.settings.codeIntro')}</p>
      <ActionForm
        label={t('app.settings.codeTitle')}
        submitText={t('app.settings.codeMake')}
        submit={createCode}
        result={<RecoverySecret code={code} />}
      >
        <PassphraseField
          label={t('page.handshake.passkey')}
          name="passkey"
          autoComplete="current-password"
          hint={t('page.passkey.what')}
          canPaste={readPassphraseRules(connection).canPaste}
        />
      </ActionForm>
    </SettingsSection>
  )
}

const RecoverySecret = ({ code }: { code: string }) =>
  code !== '' && <Secret label={t('app.settings.codeTitle')} text={code} copyText={t('page.copy')} />

/** Wraps the keychain and a new backup with another passphrase, in one request. Returns the new recovery code. */
async function changePassphrase(connection: Connection, current: string, chosen: string): Promise<string> {
  const { userinfo, salts } = readKeyOwner(connection)
  const { isRestricted, form } = readPassphraseRules(connection)
  const right = await verifyPassphrase(connection, current)
  const { username } = userinfo
  const fault = findPasskeyFault(chosen, { isRestricted, known: [...listKnownTexts(connection), current] })
  if (fault) throw new InputError(t(faultTexts[fault]))
  const { items } = await api.userKeychainValues.list.query({})
  const next = await deriveKeychainKey(chosen, makeWrapping(form), salts)
  const [entries, { backupCode, passkeyBackup }] = await Promise.all([
    rewrapEntries(right.key, next, items),
    makeBackup(chosen, username, salts),
  ])
  await api.keychain.changePasskey.mutate({ entries, passkeyBackup }).catch(async (error) => {
    // The response may be lost although the change is stored.
    if (!(await isStored(next).catch(() => false))) throw error
  })
  // The new code must be shown even where this browser cannot store the key; it then asks for the passphrase.
  await storeKey(getKeyOwner(connection), next).catch(() => undefined)
  // Other tabs have the key from before.
  announcePerson(null)
  await refreshSession()
  return backupCode
}

/** Creates a recovery code, and encrypts a backup of the passphrase with it. */
async function renewBackup(connection: Connection, typed: string): Promise<string> {
  const { userinfo, salts } = readKeyOwner(connection)
  const { passkey } = await verifyPassphrase(connection, typed)
  const { backupCode, passkeyBackup } = await makeBackup(passkey, userinfo.username, salts)
  await api.passkey.renewBackup.mutate(passkeyBackup)
  return backupCode
}
