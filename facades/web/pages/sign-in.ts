import { isAccountProblem } from '../../../routers/core/problems.ts'
import { type Html, html } from '../html.ts'
import { field, outcome, type Translate } from '../layout.ts'

/** The available sign-in methods. */
interface LoginMethods {
  password: boolean
  elsewhere: boolean
}

/** The reason for the visit, from the query. */
export interface Arrival {
  /** Error code of a failed sign-in at a provider. */
  error?: string
  /** Present if the session had ended. */
  ended?: string
  /** Target after the sign-in. */
  redirectUri?: string
}

interface LoginPage {
  ways: LoginMethods
  arrival: Arrival
  /** The address of the service. */
  baseUrl: string
  siteName: string
}

export const loginBody = (translate: Translate, { ways, arrival, baseUrl, siteName }: LoginPage): Html => html`
${addressNotice(translate, baseUrl)}
${arrivalNotice(translate, arrival)}
<p>${translate('page.login.what').replace(':name', () => siteName)}</p>
${ways.password && passwordForm(translate)}
${ways.elsewhere && elsewhereLink(translate, arrival)}
${!ways.password && !ways.elsewhere && html`<p class="notice">${translate('page.login.noWay')}</p>`}`

/** Renders a notice that the script shows if the page was opened at another address. */
const addressNotice = (translate: Translate, baseUrl: string): Html => html`
<p id="other-address" class="notice" hidden><span>${translate('page.login.otherAddress')}</span>
<a href="${baseUrl}">${baseUrl}</a></p>`

function arrivalNotice(translate: Translate, { error, ended }: Arrival): Html {
  if (error !== undefined)
    return html`<p class="outcome notice wrong" role="alert">${translateFailure(translate, error)}</p>`
  return html`${ended !== undefined && html`<p class="outcome notice" role="status">${translate('page.login.ended')}</p>`}`
}

/** Labels of errors after a sign-in at a provider, where no password was typed. */
const failureLabels: Record<string, string> = {
  too_many_requests: 'page.error.too_many_requests',
  unavailable: 'page.error.unavailable',
}
const translateFailure = (translate: Translate, code: string) =>
  translate(
    isAccountProblem(code)
      ? `page.error.${code}`
      : Object.hasOwn(failureLabels, code)
        ? (failureLabels[code] ?? '')
        : 'page.login.elsewhereFailed',
  )

const passwordForm = (translate: Translate): Html => html`<form id="login" method="post" action="/req/login">
${field({ id: 'account', label: translate('page.login.account'), autocomplete: 'username' })}
${field({ id: 'password', label: translate('page.login.password'), type: 'password', autocomplete: 'current-password', max: 1024 })}
<button disabled>${translate('page.login.submit')}</button>
${outcome}
</form>`

/** Writes the query with the target, which the reader restricts to own pages. */
const writeQuery = (redirectUri: string | undefined) =>
  redirectUri === undefined ? '' : `?redirectUri=${encodeURIComponent(redirectUri)}`

const elsewhereLink = (translate: Translate, { redirectUri }: Arrival): Html =>
  html`<p class="actions"><a class="button" href="/req/login${writeQuery(redirectUri)}">${translate('page.login.oidc')}</a></p>`

/** Renders the registration page with the newest policy, or a default text. */
export const registerBody = (translate: Translate, { redirectUri }: Arrival, policy: Html | undefined): Html => html`
<p>${translate('page.register.intro')}</p>
<h2>${translate('page.register.policyTitle')}</h2>
${policy ?? html`<p>${translate('page.register.policy')}</p>`}
<p class="actions"><a class="button" href="/handshake${writeQuery(redirectUri)}">${translate('page.register.submit')}</a></p>`

export const logoutBody = (translate: Translate): Html => html`
<p>${translate('page.logout.question')}</p>
<form id="logout" method="post" action="/logout"><button>${translate('page.signOut')}</button></form>`
