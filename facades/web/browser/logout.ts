import { element } from './form.ts'
import { go } from './go.ts'
import { forget } from './keystore.ts'
import { ask } from './server.ts'

const form = element('logout')
form.addEventListener('submit', async (event) => {
  event.preventDefault()
  if (form.ariaBusy === 'true') return
  form.ariaBusy = 'true'
  try {
    // Keys unlocked in this browser must not stay unlocked for its next user.
    await forget()
    const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/logout')
    await go(redirectUri)
  } catch {
    element('page-failed').hidden = false
    form.ariaBusy = null
  }
})
