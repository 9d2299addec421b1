import { boot } from './boot.ts'
import { Refused, Wrong } from './errors.ts'
import { entered, onSubmit } from './form.ts'
import { go, wayOn } from './go.ts'
import { ask } from './server.ts'

/** What a refused sign-in means, by its status: 403 says that the request came from another address. */
const refusals: Record<number, string> = {
  401: 'page.login.failed',
  403: 'page.error.csrf',
  422: 'page.login.failed',
}

/** Only the browser knows its real address for the service: proxies may rewrite it. */
function compareAddress(): void {
  const notice = document.getElementById('other-address')
  const text = notice?.querySelector('span')
  if (!notice || !text) return
  notice.hidden = notice.querySelector('a')?.origin === location.origin
  text.textContent = text.textContent.replaceAll(':here', location.origin)
}

compareAddress()
const { translate } = await boot()

onSubmit(translate, 'login', async () => {
  const credentials = { account: entered('account'), password: entered('password'), redirectUri: wayOn() }
  const { redirectUri } = await ask<{ redirectUri: string }>('POST', '/req/login', credentials).catch((error) => {
    const key = error instanceof Refused ? refusals[error.status] : undefined
    throw key === undefined ? error : new Wrong(key)
  })
  return go(redirectUri)
})
