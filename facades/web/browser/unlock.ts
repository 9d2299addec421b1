import { boot, getKeyOwner } from './boot.ts'
import { recover, type Sealed } from './crypto.ts'
import { PageError, ServerError } from './errors.ts'
import { getValue, hideSecret, onSubmit, refusePaste, showSecret } from './form.ts'
import { forgetReturnPath, getReturnPath, go } from './go.ts'
import { unlockKeychain, updateForm } from './keychain-page.ts'
import { findKey, storeKey } from './keystore.ts'
import { showKeyStoreNotice } from './keystore-notice.ts'
import { sendRequest } from './server.ts'

refusePaste()
const { connection, translate } = await boot()
const next = getReturnPath()
forgetReturnPath()
// Skips the question for the passkey if the keys are still unlocked, or where the next page asks for it itself.
if (next !== undefined && (next.startsWith('/connect/') || (await hasKey()))) await go(next)

/** Returns true if this browser has the key; says so if it cannot tell. */
async function hasKey(): Promise<boolean> {
  try {
    return (await findKey(getKeyOwner(connection))) !== undefined
  } catch {
    showKeyStoreNotice(translate)
    return false
  }
}

async function unlockKeys(typed: string): Promise<boolean> {
  const right = await unlockKeychain(connection, typed)
  if (right) await storeKey(getKeyOwner(connection), await updateForm(connection, right))
  return right !== undefined
}

onSubmit(translate, 'unlock', async () => {
  if (!(await unlockKeys(getValue('passkey')))) throw new PageError('page.unlock.wrong')
  return go(next ?? '/chat')
})

onSubmit(translate, 'recover', async () => {
  hideSecret('recovered')
  const { salts, userinfo } = connection
  if (!crypto.subtle) throw new PageError('page.insecure')
  if (!salts || !userinfo) throw new PageError('page.error')
  const { passkeyBackup } = await sendRequest<{ passkeyBackup: Sealed & { username?: string } }>(
    'GET',
    '/req/profile/passkey-backup',
  )
  const { username = userinfo.username } = passkeyBackup
  const passkey = await recover(getValue('code'), username, passkeyBackup, salts).catch(() => {
    throw new PageError('page.unlock.wrongCode')
  })
  await unlockKeys(passkey)
  showSecret(translate, 'recovered', passkey)
  return translate('page.unlock.recovered')
})

const reset = async () => {
  const { redirectUri } = await sendRequest<{ redirectUri: string }>('POST', '/req/profile/reset').catch((error) => {
    throw error instanceof ServerError && error.status === 403 ? new PageError('page.unlock.freshLogin') : error
  })
  return go(redirectUri)
}
onSubmit(translate, 'reset', reset, () =>
  askForConfirmation({
    title: translate('page.unlock.resetSure'),
    text: translate('page.unlock.resetIntro'),
    yes: translate('page.unlock.reset'),
    no: translate('page.cancel'),
  }),
)

interface Question {
  title: string
  text: string
  yes: string
  no: string
}

/**
 * Asks for confirmation of what cannot be undone. A native dialog keeps the focus inside, closes on Escape and returns
 * the focus; "no" comes first and has the focus at the start.
 */
function askForConfirmation({ title, text, yes, no }: Question): Promise<boolean> {
  const dialog = document.createElement('dialog')
  dialog.setAttribute('aria-labelledby', 'dialog-title')
  dialog.setAttribute('aria-describedby', 'dialog-text')
  const form = document.createElement('form')
  form.method = 'dialog'
  const answers = Object.assign(document.createElement('p'), { className: 'actions' })
  answers.append(createAnswerButton(no, '', 'quiet'), createAnswerButton(yes, 'yes', 'danger'))
  form.append(
    Object.assign(document.createElement('h2'), { id: 'dialog-title', textContent: title }),
    Object.assign(document.createElement('p'), { id: 'dialog-text', textContent: text }),
    answers,
  )
  dialog.append(form)
  document.body.append(dialog)
  return new Promise((resolve) => {
    dialog.addEventListener('close', () => {
      dialog.remove()
      resolve(dialog.returnValue === 'yes')
    })
    dialog.showModal()
  })
}

const createAnswerButton = (text: string, value: string, className: string) =>
  Object.assign(document.createElement('button'), { textContent: text, value, className })
