import { type Html, html } from '../html.ts'
import { field, outcome, type Translate } from '../layout.ts'

/**
 * Renders the invitation page. The script shows the form once it knows the account; the secret of the link never
 * reaches a server with the page.
 */
export const invitationBody = (translate: Translate): Html => html`
<p id="invited" role="status">${translate('page.working')}</p>
<form id="invitation" method="post" hidden>
<input id="username" name="username" type="text" autocomplete="username" readonly hidden>
${field({
  id: 'password',
  label: translate('page.invitation.password'),
  type: 'password',
  autocomplete: 'new-password',
  hint: translate('page.invitation.hint'),
  max: 1024,
})}
${field({ id: 'repeat', label: translate('page.invitation.repeat'), type: 'password', autocomplete: 'new-password', max: 1024 })}
<button disabled>${translate('page.invitation.submit')}</button>
${outcome}
</form>
<p id="to-login" class="actions" hidden><a class="button" href="/login">${translate('page.login.submit')}</a></p>`
