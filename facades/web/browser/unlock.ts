import { boot, ownerOf } from './boot.ts'
import { recover, type Sealed, unlock } from './crypto.ts'
import { confirmed } from './dialog.ts'
import { PageError, ServerError } from './errors.ts'
import { entered, onSubmit } from './form.ts'
import { arrived, go, wayOn } from './go.ts'
import { find, keep } from './keystore.ts'
import { hideSecret, showSecret } from './secret.ts'
import { api, ask } from './server.ts'
import { refusePaste } from './typed.ts'

refusePaste()
const { connection, translate } = await boot()
const next = wayOn()
arrived()
// Skips the question for the passkey if the keys are still unlocked, or where the next page asks for it itself.
if (next !== undefined && (next.startsWith('/connect/') || (await find(ownerOf(connection))))) await go(next)

async function open(passkey: string): Promise<boolean> {
  if (!crypto.subtle) throw new PageError('page.insecure')
  const { meta } = await ask<{ meta: { publicKey: string; validator: string } }>(
    'GET',
    `${api}/user-keychain-values/actions/validator`,
  )
  const key = connection.salts && (await unlock(passkey, meta, connection.salts))
  if (key) await keep(ownerOf(connection), key)
  return key !== undefined
}

onSubmit(translate, 'unlock', async () => {
  if (!(await open(entered('passkey')))) throw new PageError('page.unlock.wrong')
  return go(next ?? '/chat')
})

onSubmit(translate, 'recover', async () => {
  hideSecret('recovered')
  const { salts, userinfo } = connection
  if (!crypto.subtle) throw new PageError('page.insecure')
  if (!salts || !userinfo) throw new PageError('page.error')
  const { passkeyBackup } = await ask<{ passkeyBackup: Sealed & { username?: string } }>(
    'GET',
    '/req/profile/passkey-backup',
  )
  const { username = userinfo.username } = passkeyBackup
  const passkey = await recover(entered('code'), username, passkeyBackup, salts).catch(() => {
    throw new PageError('page.unlock.wrongCode')
  })
  await open(passkey)
  showSecret(translate, 'recovered', passkey)
  return translate('page.unlock.recovered')
})

const reset = async () => {
  const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/req/profile/reset').catch((error) => {
    throw error instanceof ServerError && error.status === 403 ? new PageError('page.unlock.freshLogin') : error
  })
  return go(redirectUri)
}
onSubmit(translate, 'reset', reset, () =>
  confirmed({
    title: translate('page.unlock.resetSure'),
    text: translate('page.unlock.resetIntro'),
    yes: translate('page.unlock.reset'),
    no: translate('page.cancel'),
  }),
)
