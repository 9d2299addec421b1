import { useState } from 'react'
import { importAppKey, sealTo } from '../../browser/crypto/own.ts'
import { storeKey } from '../../browser/keystore.ts'
import { api, type ConsentRequest } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { getKeyOwner } from '../shared/conversation-key.ts'
import { rewrapKeychain, verifyPassphrase } from '../shared/keychain.ts'
import { t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { getButtonClass } from '../shared/ui/button.tsx'
import { Choice } from '../shared/ui/choice.tsx'
import { PassphraseField } from '../shared/ui/passphrase-field.tsx'
import styles from './connect-page.module.css'
import { readConnection } from './connection.ts'
import { pageData } from './page-data.ts'
import { go } from './return-path.ts'

/** Shows what an app requests; the person agrees or declines. */
export const ConnectPage = () => pageData.request && <Consent request={pageData.request} />

function Consent({ request }: { request: ConsentRequest }) {
  const [withKeys, setWithKeys] = useState(request.needsKeys)
  const { logo, name, username, description, url } = request
  return (
    <>
      {logo !== null && <img className={styles.logo} alt="" width="64" height="64" src={logo} />}
      <p>
        {t('page.connect.asks')
          .replace(':app', () => name)
          .replace(':username', () => username)}
      </p>
      <p className="hint">
        {description}{' '}
        <span>
          {t('page.connect.at')} <code>{url}</code>
        </span>
      </p>
      {request.needsKeys && <KeyWarning />}
      <ActionForm
        id="connect"
        label={document.querySelector('h1')?.textContent ?? ''}
        submitText={t(request.needsKeys ? 'page.connect.agreeWithKeys' : 'page.connect.agree')}
        submit={(form) => agree(request, form)}
      >
        <fieldset>
          <legend>{t('page.connect.may')}</legend>
          {request.abilities.map((ability) => (
            <Choice key={ability} name="ability" value={ability} label={t(`page.ability.${ability}`)} defaultChecked />
          ))}
        </fieldset>
        {!request.needsKeys && (
          <fieldset>
            <legend>{t('page.connect.keys')}</legend>
            {[false, true].map((given) => (
              <Choice
                key={String(given)}
                type="radio"
                name="keys"
                value={given ? 'given' : ''}
                label={t(given ? 'page.connect.withKeys' : 'page.connect.withoutKeys')}
                checked={withKeys === given}
                onChange={() => setWithKeys(given)}
              />
            ))}
          </fieldset>
        )}
        {withKeys && (
          <>
            {!request.needsKeys && <KeyWarning />}
            <PassphraseField
              label={t('page.handshake.passkey')}
              name="passkey"
              autoComplete="current-password"
              hint={t('page.connect.passkeyHint')}
              canPaste={pageData.mayPaste}
            />
          </>
        )}
        <p className="hint">{t('page.connect.days', { days: String(request.linkDays) })}</p>
        <p className="hint">
          {t('page.connect.back')} <code id="back">{request.redirectUrl}</code>
        </p>
      </ActionForm>
      <a className={getButtonClass()} id="decline" href={request.declinedUrl}>
        {t('page.connect.decline')}
      </a>
    </>
  )
}

/** The most prominent warning of the page. */
const KeyWarning = () => (
  <div className={styles.warning} role="alert">
    <p>
      <strong>{t('page.connect.handsOver')}</strong>
    </p>
    <p>{t('page.connect.readsAll')}</p>
  </div>
)

async function agree({ publicKey, acceptedUrl }: ConsentRequest, form: HTMLFormElement): Promise<never> {
  const abilities = new FormData(form).getAll('ability') as ConsentRequest['abilities']
  if (abilities.length === 0) throw new InputError(t('page.connect.nothing'))
  const typed = form.elements.namedItem('passkey') && readField(form, 'passkey')
  const passkey = typed === null ? null : await sealPassphrase(typed, publicKey)
  const connectRequest = decodeURIComponent(location.pathname.split('/').at(-1) ?? '')
  await api.extApps.establishConnection.mutate({ connectRequest, passkey, abilities })
  return go(acceptedUrl)
}

/** Seals the verified passphrase for the app, which opens a keychain in the reference's form. */
async function sealPassphrase(typed: string, publicKey: string): Promise<string> {
  const connection = await readConnection()
  const right = await verifyPassphrase(connection, typed)
  const key = await rewrapKeychain(connection, right, 'reference')
  // The app gets its keys even where this browser cannot store them.
  await storeKey(getKeyOwner(connection), key).catch(() => undefined)
  return sealTo(await importAppKey(publicKey), right.passkey)
}
