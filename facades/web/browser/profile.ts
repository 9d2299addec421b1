import { boot, ownerOf } from './boot.ts'
import { makeBackup, unlock } from './crypto.ts'
import { toBase64 } from './encoding.ts'
import { element, entered, onSubmit } from './form.ts'
import { find, forget } from './keystore.ts'
import { showSessions } from './profile-sessions.ts'
import { showTokens } from './profile-tokens.ts'
import { showUsage } from './profile-usage.ts'
import { api, ask, Refused } from './server.ts'
import { refusePaste } from './typed.ts'

refusePaste()
const { connection, say } = await boot()
const { userinfo, salts } = connection
const failed = (error: unknown) => (error instanceof Refused && error.message) || say('page.error')

element('locked').hidden = (await find(ownerOf(connection))) !== undefined
showPicture(userinfo?.avatar ?? null)
prefill('name', userinfo?.name)
prefill('bio', userinfo?.bio)

/** Whoever was faster than the answer keeps what they typed. */
function prefill(id: string, value: string | null | undefined): void {
  const field = element<HTMLInputElement | HTMLTextAreaElement>(id)
  if (field.value === '') field.value = value ?? ''
}

function showPicture(avatar: string | null): void {
  const picture = element<HTMLImageElement>('picture')
  picture.hidden = avatar === null
  if (avatar) picture.src = `/req/profile/picture/${userinfo?.id}?${encodeURIComponent(avatar)}`
}

onSubmit(
  'about',
  async () => {
    const [file] = element<HTMLInputElement>('avatar').files ?? []
    const avatar = file && { avatar: toBase64(new Uint8Array(await file.arrayBuffer())) }
    const attributes = { displayName: entered('name'), bio: entered('bio') || null, ...avatar }
    const body = { data: { type: 'users', id: String(userinfo?.id), attributes } }
    const saved = await ask<{ data: { attributes: { avatar: string | null } } }>(
      'PATCH',
      `${api}/users/${userinfo?.id}`,
      body,
    )
    showPicture(saved.data.attributes.avatar)
    return say('page.profile.saved')
  },
  failed,
)

onSubmit(
  'renew',
  async () => {
    const { meta } = await ask<{ meta: { publicKey: string; validator: string } }>(
      'GET',
      `${api}/user-keychain-values/actions/validator`,
    )
    if (!salts || !userinfo) throw new Error(say('page.error'))
    if (!(await unlock(entered('passkey'), meta, salts)))
      throw new Refused(0, 'wrong_passkey', say('page.unlock.wrong'))
    const { backupCode, passkeyBackup } = await makeBackup(entered('passkey'), userinfo.username, salts)
    await ask('POST', '/req/profile/passkey-backup', passkeyBackup)
    element('code').textContent = backupCode
    return say('page.handshake.codeIntro')
  },
  failed,
)

onSubmit(
  'everywhere',
  async () => {
    await forget()
    const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/req/profile/logout-everywhere')
    location.assign(redirectUri)
    return undefined
  },
  failed,
)

await Promise.all([showTokens(say, failed), showUsage(say), showSessions(say, failed)])
