import { boot, ownerOf } from './boot.ts'
import { makeBackup, unlock } from './crypto.ts'
import { confirmed } from './dialog.ts'
import { PageError } from './errors.ts'
import { element, entered, onSubmit } from './form.ts'
import { go } from './go.ts'
import { find, forget } from './keystore.ts'
import { showAbout } from './profile/about.ts'
import { offerAnnouncements } from './profile/announcements.ts'
import { showApprovals } from './profile/approvals.ts'
import { showApps } from './profile/apps.ts'
import { showLimits } from './profile/limits.ts'
import { offerPasswordChange } from './profile/password.ts'
import { showSessions } from './profile/sessions.ts'
import { showTokens } from './profile/tokens.ts'
import { showUsage } from './profile/usage.ts'
import { hideSecret, showSecret } from './secret.ts'
import { api, ask } from './server.ts'
import { refusePaste } from './typed.ts'

refusePaste()
const { connection, translate } = await boot()
const { userinfo, salts } = connection

element('locked').hidden = (await find(ownerOf(connection))) !== undefined
offerAnnouncements(translate)
showAbout(translate, connection)
offerPasswordChange(translate)

onSubmit(translate, 'renew', async () => {
  hideSecret('code')
  if (!crypto.subtle) throw new PageError('page.insecure')
  const { meta } = await ask<{ meta: { publicKey: string; validator: string } }>(
    'GET',
    `${api}/user-keychain-values/actions/validator`,
  )
  if (!salts || !userinfo) throw new PageError('page.error')
  if (!(await unlock(entered('passkey'), meta, salts))) throw new PageError('page.unlock.wrong')
  const { backupCode, passkeyBackup } = await makeBackup(entered('passkey'), userinfo.username, salts)
  await ask('POST', '/req/profile/passkey-backup', passkeyBackup)
  element<HTMLInputElement>('passkey').value = ''
  showSecret(translate, 'code', backupCode)
  return translate('page.handshake.codeIntro')
})

const everywhere = async () => {
  await forget()
  const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/req/profile/logout-everywhere')
  return go(redirectUri)
}
onSubmit(translate, 'everywhere', everywhere, () =>
  confirmed({
    title: translate('page.profile.everywhereSure'),
    text: translate('page.profile.everywhereText'),
    yes: translate('page.profile.everywhere'),
    no: translate('page.cancel'),
  }),
)

await Promise.all([
  showTokens(translate),
  showLimits(translate),
  showUsage(translate),
  showSessions(translate),
  showApps(translate),
  showApprovals(translate),
])
