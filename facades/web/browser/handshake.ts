import { boot, type Connection, ownerOf } from './boot.ts'
import { firstKeys, plainPasskey } from './crypto.ts'
import { PageError } from './errors.ts'
import { element, entered, onSubmit, refusePaste, showSecret } from './form.ts'
import { arrived, wayOn } from './go.ts'
import { keep } from './keystore.ts'
import { ask, brand, resource } from './server.ts'

refusePaste()
const { connection, translate } = await boot()
const { salts, userinfo, configs } = connection

onSubmit(translate, 'handshake', async () => {
  const passkey = entered('passkey')
  if (!crypto.subtle) throw new PageError('page.insecure')
  const isPlain = !configs.security.passkeyRestrictCharacters || plainPasskey.test(passkey)
  if (passkey.length < 8 || !isPlain) throw new PageError('page.handshake.weak')
  if (passkey !== entered('repeat')) throw new PageError('page.handshake.differ')
  if (!salts || !userinfo) throw new PageError('page.error')
  const { handshake, backupCode, key } = await firstKeys(passkey, userinfo.username, salts)
  const { policy: id, version } = element('handshake').dataset
  const body = { ...handshake, ...(id && version && { policy: { id: Number(id), version } }) }
  const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/handshake', body)
  await keep(ownerOf(await resource<Connection>(`connections/${brand}`)), key)
  element<HTMLAnchorElement>('on').href = wayOn() ?? redirectUri
  arrived()
  document.querySelector('h1')?.replaceChildren(translate('page.handshake.codeTitle'))
  element('make').hidden = true
  element('kept').hidden = false
  showSecret(translate, 'code', backupCode)
  return undefined
})
