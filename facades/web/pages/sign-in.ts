import { type Html, html } from '../html.ts'
import { field, outcome, type Say } from '../layout.ts'

/** Which ways of signing in there are. */
interface Ways {
  password: boolean
  elsewhere: boolean
}

export const loginBody = (say: Say, { password, elsewhere }: Ways, failed: boolean): Html => html`
${failed && html`<p class="wrong" role="alert">${say('page.login.elsewhereFailed')}</p>`}
${
  password &&
  html`<form id="login" method="post" action="/req/login">
${field({ id: 'account', label: say('page.login.account'), autocomplete: 'username' })}
${field({ id: 'password', label: say('page.login.password'), type: 'password', autocomplete: 'current-password', max: 1024 })}
<button disabled>${say('page.login.submit')}</button>
${outcome}
</form>`
}
${elsewhere && html`<p><a class="button" href="/req/login">${say('page.login.oidc')}</a></p>`}`

export const registerBody = (say: Say): Html => html`
<p>${say('page.register.intro')}</p>
<h2>${say('page.register.policyTitle')}</h2>
<p>${say('page.register.policy')}</p>
<p><a class="button" href="/handshake">${say('page.register.submit')}</a></p>`

export const logoutBody = (say: Say): Html => html`
<p>${say('page.logout.question')}</p>
<form id="logout" method="post" action="/logout"><button>${say('page.signOut')}</button></form>`
