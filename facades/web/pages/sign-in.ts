import { type Html, html } from '../html.ts'
import { field, outcome, type Say } from '../layout.ts'

/** Which ways of signing in there are. */
interface Ways {
  password: boolean
  elsewhere: boolean
}

/** What brought somebody to the page, as its address says. */
export interface Arrival {
  /** Why signing in elsewhere failed. */
  error?: string
  /** Set where a session was over when its page was used. */
  ended?: string
  /** Where to go on after signing in. */
  redirectUri?: string
}

export const loginBody = (say: Say, ways: Ways, arrival: Arrival, baseUrl: string): Html => html`
${addressNotice(say, baseUrl)}
${arrivalNotice(say, arrival)}
${ways.password && passwordForm(say)}
${ways.elsewhere && elsewhereLink(say, arrival)}
${!ways.password && !ways.elsewhere && html`<p class="notice">${say('page.login.noWay')}</p>`}`

/** Shown by the script where the page was opened at another address. */
const addressNotice = (say: Say, baseUrl: string): Html => html`
<p id="other-address" class="notice" hidden><span>${say('page.login.otherAddress')}</span>
<a href="${baseUrl}">${baseUrl}</a></p>`

function arrivalNotice(say: Say, { error, ended }: Arrival): Html {
  if (error !== undefined) return html`<p class="outcome notice wrong" role="alert">${failureText(say, error)}</p>`
  return html`${ended !== undefined && html`<p class="outcome notice" role="status">${say('page.login.ended')}</p>`}`
}

/** Where signing in elsewhere was refused, nobody typed a password here. */
const failures: Record<string, string> = {
  too_many_requests: 'page.error.too_many_requests',
  unavailable: 'page.error.unavailable',
}
const failureText = (say: Say, code: string) =>
  say(Object.hasOwn(failures, code) ? (failures[code] ?? '') : 'page.login.elsewhereFailed')

const passwordForm = (say: Say): Html => html`<form id="login" method="post" action="/req/login">
${field({ id: 'account', label: say('page.login.account'), autocomplete: 'username' })}
${field({ id: 'password', label: say('page.login.password'), type: 'password', autocomplete: 'current-password', max: 1024 })}
<button disabled>${say('page.login.submit')}</button>
${outcome}
</form>`

function elsewhereLink(say: Say, { redirectUri }: Arrival): Html {
  const search = redirectUri === undefined ? '' : `?redirectUri=${encodeURIComponent(redirectUri)}`
  return html`<p class="actions"><a class="button" href="/req/login${search}">${say('page.login.oidc')}</a></p>`
}

export const registerBody = (say: Say): Html => html`
<p>${say('page.register.intro')}</p>
<h2>${say('page.register.policyTitle')}</h2>
<p>${say('page.register.policy')}</p>
<p class="actions"><a class="button" href="/handshake">${say('page.register.submit')}</a></p>`

export const logoutBody = (say: Say): Html => html`
<p>${say('page.logout.question')}</p>
<form id="logout" method="post" action="/logout"><button>${say('page.signOut')}</button></form>`
