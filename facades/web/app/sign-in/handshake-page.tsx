import { useEffect, useState } from 'react'
import { faultTexts, findPasskeyFault, firstKeys } from '../../browser/crypto/own.ts'
import { storeKey } from '../../browser/keystore.ts'
import { api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { getKeyOwner } from '../shared/conversation-key.ts'
import { listKnownTexts, readKeyOwner, readPassphraseRules } from '../shared/keychain.ts'
import { AnnouncementText } from '../shared/notices/announcement-text.tsx'
import { t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { getButtonClass } from '../shared/ui/button.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { PassphraseField } from '../shared/ui/passphrase-field.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { readAgain, readConnection } from './connection.ts'
import { pageData, setTitle } from './page-data.ts'
import { takeReturnPath } from './return-path.ts'

interface FirstKeys {
  code: string
  target: string
}

/** Creates the first keys, and then shows the recovery code. */
export function HandshakePage() {
  const [keys, setKeys] = useState<FirstKeys>()
  const known = useKnownTexts()
  if (keys) return <RecoveryCode {...keys} />
  const create = async (form: HTMLFormElement) => {
    setKeys(await createKeys(readField(form, 'passkey'), readField(form, 'repeat')))
    setTitle(t('page.handshake.codeTitle'))
    return undefined
  }
  const { policy, mayPaste: canPaste, isPasskeyRestricted } = pageData
  return (
    <>
      <p>{t('page.handshake.intro')}</p>
      <Notice>{t('page.passkey.what')}</Notice>
      {policy && (
        <>
          <h2>{t('page.register.policyTitle')}</h2>
          <AnnouncementText text={policy.text} />
        </>
      )}
      <ActionForm
        id="handshake"
        label={t('page.handshake.title')}
        submitText={t('page.handshake.submit')}
        submit={create}
      >
        <PassphraseField
          label={t('page.handshake.passkey')}
          name="passkey"
          autoComplete="new-password"
          hint={t(isPasskeyRestricted ? 'page.handshake.hint' : 'page.handshake.freeHint')}
          rules={{ isRestricted: isPasskeyRestricted, known }}
          canPaste={canPaste}
        />
        <PassphraseField
          label={t('page.handshake.repeat')}
          name="repeat"
          autoComplete="new-password"
          canPaste={canPaste}
          explainsPasting={false}
        />
      </ActionForm>
    </>
  )
}

/** Reads what others know of the person; a failure is told when the form is sent. */
function useKnownTexts(): string[] {
  const [known, setKnown] = useState<string[]>([])
  useEffect(() => {
    readConnection().then(
      (connection) => setKnown(listKnownTexts(connection)),
      () => undefined,
    )
  }, [])
  return known
}

async function createKeys(passphrase: string, repeated: string): Promise<FirstKeys> {
  const connection = await readConnection()
  const { userinfo, salts } = readKeyOwner(connection)
  const { isRestricted, form } = readPassphraseRules(connection)
  const { username } = userinfo
  const fault = findPasskeyFault(passphrase, { isRestricted, known: listKnownTexts(connection) })
  if (fault) throw new InputError(t(faultTexts[fault]))
  if (passphrase !== repeated) throw new InputError(t('page.handshake.differ'))
  const { handshake, backupCode: code, key } = await firstKeys(passphrase, username, salts, form)
  const { policy } = pageData
  const accepted = policy && { policy: { id: policy.id, version: policy.version } }
  const { redirectUri } = await api.registration.complete.mutate({ ...handshake, ...accepted })
  // The code is shown only once, so that it must depend on nothing that may fail now. The next page reports that.
  await readAgain()
    .then((created) => storeKey(getKeyOwner(created), key))
    .catch(() => undefined)
  return { code, target: takeReturnPath() ?? redirectUri }
}

const RecoveryCode = ({ code, target }: FirstKeys) => (
  <section id="kept">
    <p>{t('page.handshake.codeIntro')}</p>
    <Secret label={t('page.handshake.codeTitle')} text={code} copyText={t('page.copy')} />
    <a className={getButtonClass('primary')} href={target}>
      {t('page.handshake.done')}
    </a>
  </section>
)
