import { boot } from './boot.ts'
import { PageError, ServerError, translateError } from './errors.ts'
import { getElement, getValue, onSubmit } from './form.ts'
import { sendRequest } from './server.ts'

/** The secret is removed from the address, and so from the browser history. */
const secret = location.hash.slice(1)
history.replaceState(history.state, '', location.pathname + location.search)

const { translate } = await boot()
const status = getElement('invited')

/** Shows a final sentence and a link to the sign-in. */
function finish(text: string, isWrong = false): void {
  getElement('invitation').hidden = true
  status.textContent = text
  status.className = isWrong ? 'notice wrong' : 'notice'
  getElement('to-login').hidden = false
}

onSubmit(translate, 'invitation', async () => {
  const password = getValue('password')
  if (password !== getValue('repeat')) throw new PageError('page.invitation.differ')
  await sendRequest('POST', '/req/invitation', { secret, password }).catch((error) => {
    throw error instanceof ServerError && error.status === 422 ? new PageError('page.invitation.weak') : error
  })
  finish(translate('page.invitation.done'))
  return undefined
})

try {
  const { username, name } = await sendRequest<{ username: string; name: string }>('POST', '/req/invitation/open', {
    secret,
  })
  status.textContent = translate('page.invitation.intro')
    .replace(':name', () => name)
    .replace(':username', () => username)
  getElement<HTMLInputElement>('username').value = username
  getElement('invitation').hidden = false
  getElement('password').focus()
} catch (error) {
  const isNoSecret = error instanceof ServerError && error.status === 422
  finish(isNoSecret ? translate('page.error.invitation_invalid') : translateError(translate, error), true)
}
