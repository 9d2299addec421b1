import { getElement } from './form.ts'
import { go } from './go.ts'
import { forgetKeys } from './keystore.ts'
import { sendRequest } from './server.ts'

const form = getElement('logout')
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (form.ariaBusy === 'true') return
  form.ariaBusy = 'true'
  try {
    // Keys unlocked in this browser must not stay unlocked for its next user.
    // A store that cannot even be deleted cannot be opened by that user either.
    await forgetKeys().catch(() => undefined)
    const { redirectUri } = await sendRequest<{ redirectUri: string }>('POST', '/logout')
    // The other tabs reload, so that their decrypted texts and keys do not outlast the session.
    new BroadcastChannel('svc:session').postMessage({ person: null })
    await go(redirectUri)
  } catch {
    getElement('page-failed').hidden = false
    form.ariaBusy = null
  }
})
