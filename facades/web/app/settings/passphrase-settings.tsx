import { useState } from 'react'
import {
  deriveKeychainKey,
  faultTexts,
  findPasskeyFault,
  fits,
  type KeychainKey,
  makeBackup,
  makeWrapping,
  type RightPasskey,
  rewrapEntries,
  type Salts,
  tryPasskey,
} from '../../browser/crypto.ts'
import { storeKey } from '../../browser/keystore.ts'
import { api, type Connection } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { getKeyOwner } from '../shared/conversation-key.ts'
import { announcePerson } from '../shared/person-change.ts'
import { refreshSession, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { readField, SettingsForm, SettingsSection } from './settings-form.tsx'

/** Changes the passphrase that opens the keychain. */
export function PassphraseForm() {
  const { connection } = useSession()
  const [code, setCode] = useState('')
  const { isRestricted } = readRules(connection)
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
      <SettingsForm
        label={t('app.settings.passphraseTitle')}
        submitText={t('app.settings.passphraseChange')}
        submit={change}
        result={<RecoverySecret code={code} />}
      >
        <PasskeyField
          label={t('app.settings.passphraseCurrent')}
          name="currentPasskey"
          autoComplete="current-password"
        />
        <PasskeyField
          label={t('app.settings.passphraseNew')}
          name="nextPasskey"
          autoComplete="new-password"
          hint={t(isRestricted ? 'page.handshake.hint' : 'page.handshake.freeHint')}
        />
        <PasskeyField label={t('app.settings.passphraseRepeat')} name="repeatedPasskey" autoComplete="new-password" />
      </SettingsForm>
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
      <SettingsForm
        label={t('app.settings.codeTitle')}
        submitText={t('app.settings.codeMake')}
        submit={createCode}
        result={<RecoverySecret code={code} />}
      >
        <PasskeyField
          label={t('page.handshake.passkey')}
          name="passkey"
          autoComplete="current-password"
          hint={t('page.passkey.what')}
        />
      </SettingsForm>
    </SettingsSection>
  )
}

const RecoverySecret = ({ code }: { code: string }) =>
  code !== '' && <Secret label={t('app.settings.codeTitle')} text={code} copyText={t('page.copy')} />

interface PasskeyFieldProps {
  label: string
  name: string
  autoComplete: string
  hint?: string
}

function PasskeyField({ hint, ...props }: PasskeyFieldProps) {
  const { canPaste } = readRules(useSession().connection)
  // One sentence is enough for a form.
  const pasteHint = canPaste || props.autoComplete === 'new-password' ? undefined : t('page.handshake.noPaste')
  const hints = [hint, pasteHint].filter(Boolean).join(' ')
  return (
    <Field
      {...props}
      {...(hints !== '' && { hint: hints })}
      type="password"
      required
      maxLength={1024}
      ref={canPaste ? null : forbidPaste}
    />
  )
}

/** Prevents pasting, dropping and yanking into a field; password managers can still fill it. */
function forbidPaste(field: HTMLInputElement): () => void {
  const refuse = (event: InputEvent) => event.inputType.startsWith('insertFrom') && event.preventDefault()
  // React's own `onBeforeInput` does not report pasting.
  field.addEventListener('beforeinput', refuse)
  return () => field.removeEventListener('beforeinput', refuse)
}

function readRules({ configs: { security } }: Connection) {
  return {
    canPaste: security?.['passkeyAllowPaste'] === true,
    isRestricted: security?.['passkeyRestrictCharacters'] === true,
    form: security?.['keychainForm'] === 'salted' ? ('salted' as const) : ('reference' as const),
  }
}

/** Wraps the keychain and a new backup with another passphrase, in one request. Returns the new recovery code. */
async function changePassphrase(connection: Connection, current: string, chosen: string): Promise<string> {
  const { userinfo, salts } = readKeyOwner(connection)
  const { isRestricted, form } = readRules(connection)
  const right = await verifyPassphrase(connection, current)
  const { username, email, name } = userinfo
  const fault = findPasskeyFault(chosen, { isRestricted, known: [username, email, name, current] })
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

const isStored = async (key: KeychainKey) => fits(key, await readValidator())

async function readValidator() {
  const { publicKey, validator } = (await api.userKeychainValues.validator.query()).meta
  return { publicKey: publicKey ?? '', validator }
}

/** Creates a recovery code, and encrypts a backup of the passphrase with it. */
async function renewBackup(connection: Connection, typed: string): Promise<string> {
  const { userinfo, salts } = readKeyOwner(connection)
  const { passkey } = await verifyPassphrase(connection, typed)
  const { backupCode, passkeyBackup } = await makeBackup(passkey, userinfo.username, salts)
  await api.passkey.renewBackup.mutate(passkeyBackup)
  return backupCode
}

/** Throws if the passphrase does not open the keychain. */
async function verifyPassphrase(connection: Connection, typed: string): Promise<RightPasskey> {
  if (!crypto.subtle) throw new InputError(t('page.insecure'))
  const right = await tryPasskey(typed, await readValidator(), readKeyOwner(connection).salts)
  if (!right) throw new InputError(t('page.unlock.wrong'))
  return right
}

function readKeyOwner({ salts, userinfo }: Connection) {
  if (!salts || !userinfo) throw new InputError(t('page.error'))
  return { userinfo, salts: salts as unknown as Salts }
}
