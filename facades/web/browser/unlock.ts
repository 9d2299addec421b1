import { boot, ownerOf } from './boot.ts'
import { recover, type Sealed, unlock } from './crypto.ts'
import { element, entered, onSubmit } from './form.ts'
import { keep } from './keystore.ts'
import { api, ask, Refused } from './server.ts'
import { refusePaste } from './typed.ts'

refusePaste()
const { connection, say } = await boot()

async function open(passkey: string): Promise<boolean> {
  const { meta } = await ask<{ meta: { publicKey: string; validator: string } }>(
    'GET',
    `${api}/user-keychain-values/actions/validator`,
  )
  const key = connection.salts && (await unlock(passkey, meta, connection.salts))
  if (key) await keep(ownerOf(connection), key)
  return key !== undefined
}

onSubmit(
  'unlock',
  async () => {
    if (!(await open(entered('passkey')))) throw new Error(say('page.unlock.wrong'))
    location.assign('/profile')
    return say('page.working')
  },
  (error) => (error instanceof Error && error.message) || say('page.error'),
)

onSubmit(
  'recover',
  async () => {
    const { passkeyBackup } = await ask<{ passkeyBackup: Sealed }>('GET', '/req/profile/passkey-backup')
    const { salts, userinfo } = connection
    if (!salts || !userinfo) throw new Error(say('page.error'))
    const passkey = await recover(entered('code'), userinfo.username, passkeyBackup, salts)
    await open(passkey)
    element('recovered').textContent = passkey
    return say('page.unlock.recovered')
  },
  (error) => say(error instanceof Refused ? 'page.error' : 'page.unlock.wrongCode'),
)

onSubmit(
  'reset',
  async () => {
    if (!confirm(say('page.unlock.resetSure'))) return undefined
    const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/req/profile/reset')
    location.assign(redirectUri)
    return say('page.working')
  },
  (error) => say(error instanceof Refused && error.status === 403 ? 'page.unlock.freshLogin' : 'page.error'),
)
