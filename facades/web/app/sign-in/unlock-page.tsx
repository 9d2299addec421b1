import { useEffect, useState } from 'react'
import { SvcError } from '../../../client/index.ts'
import { recover } from '../../browser/crypto/own.ts'
import { findKey, KeyStoreFailure, storeKey } from '../../browser/keystore.ts'
import { api, type Connection } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { getKeyOwner } from '../shared/conversation-key.ts'
import { readKeyOwner, rewrapKeychain, verifyPassphrase } from '../shared/keychain.ts'
import { t } from '../shared/text/labels.ts'
import { ActionForm, Outcome, readField, useAction } from '../shared/ui/action-form.tsx'
import { getButtonClass } from '../shared/ui/button.tsx'
import { ConfirmButton } from '../shared/ui/confirm-button.tsx'
import { Field } from '../shared/ui/field.tsx'
import { KeyStoreNotice } from '../shared/ui/key-store-notice.tsx'
import { PassphraseField } from '../shared/ui/passphrase-field.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { readConnection } from './connection.ts'
import { pageData, setTitle } from './page-data.ts'
import { go, takeReturnPath } from './return-path.ts'

const next = pageData.view === 'unlock' ? takeReturnPath() : undefined

/** Unlocks the keys, gives the passphrase back for the recovery code, or begins anew. */
export function UnlockPage() {
  const [recovered, setRecovered] = useState<string>()
  const [isStoreDamaged, setStoreDamaged] = useState(false)
  const watchStore = (error: unknown): never => {
    if (error instanceof KeyStoreFailure) setStoreDamaged(true)
    throw error
  }
  useEffect(() => {
    leaveIfUnlocked().catch((error: unknown) => setStoreDamaged(error instanceof KeyStoreFailure))
  }, [])
  if (recovered !== undefined) return <RecoveredPassphrase passphrase={recovered} />
  return (
    <>
      {isStoreDamaged && <KeyStoreNotice />}
      <p>{t('page.unlock.intro')}</p>
      <ActionForm
        id="unlock"
        label={t('page.unlock.title')}
        submitText={t('page.unlock.submit')}
        submit={(form) => unlock(readField(form, 'passkey')).catch(watchStore)}
      >
        <PassphraseField
          label={t('page.handshake.passkey')}
          name="passkey"
          autoComplete="current-password"
          hint={t('page.passkey.what')}
          canPaste={pageData.mayPaste}
        />
      </ActionForm>
      <details>
        <summary>{t('page.unlock.recoverTitle')}</summary>
        <RecoveryForm onRecovered={setRecovered} />
        <h2>{t('page.unlock.resetTitle')}</h2>
        <KeyReset />
      </details>
    </>
  )
}

/** Skips the question for the passphrase if the keys are still unlocked, or where the next page needs none or asks itself. */
async function leaveIfUnlocked(): Promise<void> {
  if (next === undefined) return
  if (/^\/(connect\/|oauth\/authorize\?)/.test(next) || (await findKey(getKeyOwner(await readConnection()))))
    await go(next)
}

async function unlock(passphrase: string): Promise<never> {
  await storeKeys(await readConnection(), passphrase)
  return go(next ?? '/chat')
}

/** Verifies the passphrase, and stores its key in the form that the service wants. */
async function storeKeys(connection: Connection, passphrase: string): Promise<void> {
  const right = await verifyPassphrase(connection, passphrase)
  // If that fails, the keychain stays as it is until the next unlocking, as it opens in both forms.
  const key = await api.keychain.form
    .query()
    .then(({ form }) => rewrapKeychain(connection, right, form))
    .catch(() => right.key)
  await storeKey(getKeyOwner(connection), key)
}

function RecoveryForm({ onRecovered }: { onRecovered: (passphrase: string) => void }) {
  const submit = async (form: HTMLFormElement) => {
    onRecovered(await recoverPassphrase(readField(form, 'code')))
    setTitle(t('page.unlock.recoveredTitle'))
    return undefined
  }
  return (
    <ActionForm
      id="recover"
      label={t('page.unlock.recoverTitle')}
      submitText={t('page.unlock.recover')}
      kind="quiet"
      submit={submit}
    >
      <Field label={t('page.unlock.code')} name="code" autoComplete="off" maxLength={40} required />
    </ActionForm>
  )
}

async function recoverPassphrase(code: string): Promise<string> {
  const connection = await readConnection()
  const { userinfo, salts } = readKeyOwner(connection)
  const backup = await api.passkey.backup.query()
  const passphrase = await recover(code, backup.username ?? userinfo.username, backup, salts).catch(() => {
    throw new InputError(t('page.unlock.wrongCode'))
  })
  // The passphrase must be shown even where this browser cannot store the key; the next page then reports that.
  await storeKeys(connection, passphrase).catch((error: unknown) => {
    if (!(error instanceof KeyStoreFailure)) throw error
  })
  return passphrase
}

/** Shows the passphrase, with one way on: nobody goes on before they could read it. */
const RecoveredPassphrase = ({ passphrase }: { passphrase: string }) => (
  <section id="recovered">
    <p role="status" tabIndex={-1} ref={(text) => text?.focus()}>
      {t('page.unlock.recovered')}
    </p>
    <Secret label={t('page.handshake.passkey')} text={passphrase} copyText={t('page.copy')} />
    <a className={getButtonClass('primary')} href={next ?? '/chat'}>
      {t('page.unlock.continue')}
    </a>
  </section>
)

/** Deletes all keys, after a question. */
function KeyReset() {
  const { run, isBusy, outcome, isWrong } = useAction()
  const reset = () =>
    run(async () => {
      const { redirectUri } = await api.passkey.reset.mutate().catch((error: unknown) => {
        throw isFreshLoginNeeded(error) ? new InputError(t('page.unlock.freshLogin')) : error
      })
      return go(redirectUri)
    })
  return (
    <div id="reset" aria-busy={isBusy}>
      <p>{t('page.unlock.resetIntro')}</p>
      <ConfirmButton
        kind="danger"
        confirmation={{
          title: t('page.unlock.resetSure'),
          text: t('page.unlock.resetIntro'),
          action: t('page.unlock.reset'),
        }}
        act={reset}
      >
        {t('page.unlock.reset')}
      </ConfirmButton>
      <Outcome outcome={outcome} isWrong={isWrong} />
    </div>
  )
}

const isFreshLoginNeeded = (error: unknown) => error instanceof SvcError && error.code === 'fresh_login_needed'
