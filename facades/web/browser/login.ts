import { boot } from './boot.ts'
import { Refused, Wrong } from './errors.ts'
import { entered, onSubmit } from './form.ts'
import { go, wayOn } from './go.ts'
import { ask } from './server.ts'

/** Only the browser knows for sure by which address it came: proxies rewrite it. */
function compareAddress(): void {
  const notice = document.getElementById('other-address')
  const text = notice?.querySelector('span')
  if (!notice || !text) return
  notice.hidden = notice.querySelector('a')?.origin === location.origin
  text.textContent = text.textContent.replaceAll(':here', location.origin)
}

compareAddress()
const { say } = await boot()

onSubmit(say, 'login', async () => {
  const credentials = { account: entered('account'), password: entered('password'), redirectUri: wayOn() }
  const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/req/login', credentials).catch((error) => {
    const isWrong = error instanceof Refused && (error.status === 401 || error.status === 422)
    throw isWrong ? new Wrong('page.login.failed') : error
  })
  return go(redirectUri)
})
