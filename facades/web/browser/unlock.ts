import { boot, ownerOf } from './boot.ts'
import { recover, type Sealed, unlock } from './crypto.ts'
import { confirmed } from './dialog.ts'
import { Refused, Wrong } from './errors.ts'
import { entered, onSubmit } from './form.ts'
import { go, wayOn } from './go.ts'
import { find, keep } from './keystore.ts'
import { hideSecret, showSecret } from './secret.ts'
import { api, ask } from './server.ts'
import { refusePaste } from './typed.ts'

refusePaste()
const { connection, say } = await boot()
const next = wayOn()
// Whoever only signed in again finds their keys as they left them.
if (next !== undefined && (await find(ownerOf(connection)))) await go(next)

async function open(passkey: string): Promise<boolean> {
  if (!crypto.subtle) throw new Wrong('page.insecure')
  const { meta } = await ask<{ meta: { publicKey: string; validator: string } }>(
    'GET',
    `${api}/user-keychain-values/actions/validator`,
  )
  const key = connection.salts && (await unlock(passkey, meta, connection.salts))
  if (key) await keep(ownerOf(connection), key)
  return key !== undefined
}

onSubmit(say, 'unlock', async () => {
  if (!(await open(entered('passkey')))) throw new Wrong('page.unlock.wrong')
  return go(next ?? '/profile')
})

onSubmit(say, 'recover', async () => {
  hideSecret('recovered')
  const { salts, userinfo } = connection
  if (!crypto.subtle) throw new Wrong('page.insecure')
  if (!salts || !userinfo) throw new Wrong('page.error')
  const { passkeyBackup } = await ask<{ passkeyBackup: Sealed }>('GET', '/req/profile/passkey-backup')
  const passkey = await recover(entered('code'), userinfo.username, passkeyBackup, salts).catch(() => {
    throw new Wrong('page.unlock.wrongCode')
  })
  await open(passkey)
  showSecret(say, 'recovered', passkey)
  return say('page.unlock.recovered')
})

const reset = async () => {
  const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/req/profile/reset').catch((error) => {
    throw error instanceof Refused && error.status === 403 ? new Wrong('page.unlock.freshLogin') : error
  })
  return go(redirectUri)
}
onSubmit(say, 'reset', reset, () =>
  confirmed({
    title: say('page.unlock.resetSure'),
    text: say('page.unlock.resetIntro'),
    yes: say('page.unlock.reset'),
    no: say('page.cancel'),
  }),
)
