import { boot } from './boot.ts'
import { PageError, ServerError } from './errors.ts'
import { getValue, onSubmit } from './form.ts'
import { getReturnPath, go, rememberReturnPath } from './go.ts'
import { sendRequest } from './server.ts'

/** The text for each error status of a sign-in; 403 means that the page was opened at another address. */
const errorTexts: Record<number, string> = {
  401: 'page.login.failed',
  403: 'page.error.csrf',
  422: 'page.login.failed',
}

/** Shows a notice if the page was opened at another address than BASE_URL; proxies may hide this from the server. */
function compareAddress(): void {
  const notice = document.getElementById('other-address')
  const text = notice?.querySelector('span')
  if (!notice || !text) return
  notice.hidden = notice.querySelector('a')?.origin === location.origin
  text.textContent = text.textContent.replaceAll(':here', location.origin)
}

compareAddress()
rememberReturnPath()
const { translate } = await boot()

onSubmit(translate, 'login', async () => {
  const credentials = { account: getValue('account'), password: getValue('password'), redirectUri: getReturnPath() }
  const { redirectUri } = await sendRequest<{ redirectUri: string }>('POST', '/req/login', credentials).catch(
    (error) => {
      // A code describes a problem of the account itself.
      const key = error instanceof ServerError && error.code === '' ? errorTexts[error.status] : undefined
      throw key === undefined ? error : new PageError(key)
    },
  )
  return go(redirectUri)
})
