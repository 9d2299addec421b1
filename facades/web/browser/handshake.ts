import { boot, type Connection, getKeyOwner } from './boot.ts'
import { faultTexts, findPasskeyFault, firstKeys } from './crypto.ts'
import { PageError } from './errors.ts'
import { getElement, getValue, onSubmit, refusePaste, showSecret } from './form.ts'
import { forgetReturnPath, getReturnPath } from './go.ts'
import { storeKey } from './keystore.ts'
import { brand, readResource, sendRequest } from './server.ts'

refusePaste()
const { connection, translate } = await boot()
const { salts, userinfo, configs } = connection

onSubmit(translate, 'handshake', async () => {
  const passkey = getValue('passkey')
  if (!crypto.subtle) throw new PageError('page.insecure')
  if (!salts || !userinfo) throw new PageError('page.error')
  const { passkeyRestrictCharacters: isRestricted, keychainForm } = configs.security
  const { username, email, name } = userinfo
  const fault = findPasskeyFault(passkey, { isRestricted, known: [username, email, name, brand] })
  if (fault) throw new PageError(faultTexts[fault])
  if (passkey !== getValue('repeat')) throw new PageError('page.handshake.differ')
  const { handshake, backupCode, key } = await firstKeys(passkey, username, salts, keychainForm)
  const { policy: id, version } = getElement('handshake').dataset
  const body = { ...handshake, ...(id && version && { policy: { id: Number(id), version } }) }
  const { redirectUri } = await sendRequest<{ redirectUri: string }>('POST', '/handshake', body)
  // The code is shown only once, so that it must depend on nothing that may fail now. The next page reports that.
  await readResource<Connection>(`connections/${brand}`)
    .then((created) => storeKey(getKeyOwner(created), key))
    .catch(() => undefined)
  getElement<HTMLAnchorElement>('on').href = getReturnPath() ?? redirectUri
  forgetReturnPath()
  document.querySelector('h1')?.replaceChildren(translate('page.handshake.codeTitle'))
  getElement('make').hidden = true
  getElement('kept').hidden = false
  showSecret(translate, 'code', backupCode)
  return undefined
})
