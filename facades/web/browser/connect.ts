import { boot, getKeyOwner } from './boot.ts'
import { importAppKey, sealTo, unlock } from './crypto.ts'
import { PageError } from './errors.ts'
import { getElement, getValue, onSubmit, refusePaste } from './form.ts'
import { forgetReturnPath, go } from './go.ts'
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

/** Seals the verified passkey for the app. Its key stays in this browser. */
async function sealPasskey(): Promise<string> {
  const { salts } = connection
  if (!crypto.subtle) throw new PageError('page.insecure')
  if (!salts) throw new PageError('page.error')
  const { meta } = await sendRequest<{ meta: { publicKey: string; validator: string } }>(
    'GET',
    `${api}/user-keychain-values/actions/validator`,
  )
  const key = await unlock(getValue('passkey'), meta, salts)
  if (!key) throw new PageError('page.unlock.wrong')
  // The app gets its keys even where this browser cannot store them.
  await storeKey(getKeyOwner(connection), key).catch(() => undefined)
  return sealTo(await importAppKey(form.dataset['key'] ?? ''), getValue('passkey'))
}
