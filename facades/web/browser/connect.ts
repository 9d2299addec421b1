import { boot, ownerOf } from './boot.ts'
import { importAppKey, sealTo, unlock } from './crypto.ts'
import { PageError } from './errors.ts'
import { element, entered, onSubmit, refusePaste } from './form.ts'
import { arrived, go } from './go.ts'
import { keep } from './keystore.ts'
import { api, ask } from './server.ts'

refusePaste()
arrived()
const { connection, translate } = await boot()
const form = element<HTMLFormElement>('connect')
const keys = element<HTMLFieldSetElement>('keys')
const needsKeys = !keys.hidden

for (const choice of form.querySelectorAll<HTMLInputElement>('input[name=keys]'))
  choice.addEventListener('change', () => {
    keys.hidden = keys.disabled = !(choice.checked && choice.value !== '')
  })

onSubmit(translate, 'connect', async () => {
  const abilities = new FormData(form).getAll('ability')
  if (abilities.length === 0) throw new PageError('page.connect.nothing')
  const passkey = needsKeys || !keys.hidden ? await sealedPasskey() : null
  const connectRequest = decodeURIComponent(location.pathname.split('/').at(-1) ?? '')
  await ask('POST', `${api}/ext-apps/actions/establish-connection`, { connectRequest, passkey, abilities })
  return go(form.dataset['accepted'] ?? '/settings')
})

/** The passkey for the app alone, once it has proved to be the right one. The key of it stays in this browser. */
async function sealedPasskey(): Promise<string> {
  const { salts } = connection
  if (!crypto.subtle) throw new PageError('page.insecure')
  if (!salts) throw new PageError('page.error')
  const { meta } = await ask<{ meta: { publicKey: string; validator: string } }>(
    'GET',
    `${api}/user-keychain-values/actions/validator`,
  )
  const key = await unlock(entered('passkey'), meta, salts)
  if (!key) throw new PageError('page.unlock.wrong')
  await keep(ownerOf(connection), key)
  return sealTo(await importAppKey(form.dataset['key'] ?? ''), entered('passkey'))
}
