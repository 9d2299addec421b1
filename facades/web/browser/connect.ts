import { boot, getKeyOwner } from './boot.ts'
import { importAppKey, sealTo } from './crypto.ts'
import { PageError } from './errors.ts'
import { getElement, getValue, onSubmit, refusePaste } from './form.ts'
import { forgetReturnPath, go } from './go.ts'
import { rewrapKeychain, unlockKeychain } from './keychain-page.ts'
import { storeKey } from './keystore.ts'
import { api, sendRequest } from './server.ts'

refusePaste()
forgetReturnPath()
const { connection, translate } = await boot()
const form = getElement<HTMLFormElement>('connect')
const keys = getElement<HTMLFieldSetElement>('keys')
const needsKeys = !keys.hidden

for (const choice of form.querySelectorAll<HTMLInputElement>('input[name=keys]'))
  choice.addEventListener('change', () => {
    keys.hidden = keys.disabled = !(choice.checked && choice.value !== '')
  })

onSubmit(translate, 'connect', async () => {
  const abilities = new FormData(form).getAll('ability')
  if (abilities.length === 0) throw new PageError('page.connect.nothing')
  const passkey = needsKeys || !keys.hidden ? await sealPasskey() : null
  const connectRequest = decodeURIComponent(location.pathname.split('/').at(-1) ?? '')
  await sendRequest('POST', `${api}/ext-apps/actions/establish-connection`, { connectRequest, passkey, abilities })
  return go(form.dataset['accepted'] ?? '/settings')
})

/** Seals the verified passkey for the app, which opens a keychain in the reference's form. */
async function sealPasskey(): Promise<string> {
  const right = await unlockKeychain(connection, getValue('passkey'))
  if (!right) throw new PageError('page.unlock.wrong')
  const key = await rewrapKeychain(connection, right, 'reference')
  // The app gets its keys even where this browser cannot store them.
  await storeKey(getKeyOwner(connection), key).catch(() => undefined)
  return sealTo(await importAppKey(form.dataset['key'] ?? ''), right.passkey)
}
