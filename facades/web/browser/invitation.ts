import { boot } from './boot.ts'
import { errorText, PageError, ServerError } from './errors.ts'
import { element, entered, onSubmit } from './form.ts'
import { ask } from './server.ts'

/** It stands in no address from here on, which others could read in the history of the browser. */
const secret = location.hash.slice(1)
history.replaceState(history.state, '', location.pathname + location.search)

const { translate } = await boot()
const told = element('invited')

/** Ends the page with a sentence, and a way to the sign-in. */
function finish(text: string, isWrong = false): void {
  element('invitation').hidden = true
  told.textContent = text
  told.className = isWrong ? 'notice wrong' : 'notice'
  element('to-login').hidden = false
}

onSubmit(translate, 'invitation', async () => {
  const password = entered('password')
  if (password !== entered('repeat')) throw new PageError('page.invitation.differ')
  await ask('POST', '/req/invitation', { secret, password }).catch((error) => {
    throw error instanceof ServerError && error.status === 422 ? new PageError('page.invitation.weak') : error
  })
  finish(translate('page.invitation.done'))
  return undefined
})

try {
  const { username, name } = await ask<{ username: string; name: string }>('POST', '/req/invitation/open', { secret })
  told.textContent = translate('page.invitation.intro')
    .replace(':name', () => name)
    .replace(':username', () => username)
  element<HTMLInputElement>('username').value = username
  element('invitation').hidden = false
  element('password').focus()
} catch (error) {
  const isNoSecret = error instanceof ServerError && error.status === 422
  finish(isNoSecret ? translate('page.error.invitation_invalid') : errorText(translate, error), true)
}
