import type { Api } from '../../../routers/index.ts'
import { type Html, html } from '../html.ts'
import { field, getPasteWarning, outcome, type Translate } from '../layout.ts'

type ConsentRequest = Awaited<ReturnType<Api['consentPage']['asked']>>

/** Renders the consent page, where a person sees what an app requests, and agrees or declines. */
export const connectBody = (translate: Translate, request: ConsentRequest, canPaste: boolean): Html => html`
${request.logo !== null && html`<img id="logo" alt="" width="64" height="64" src="${request.logo}">`}
<p>${translate('page.connect.asks')
  .replace(':app', () => request.name)
  .replace(':username', () => request.username)}</p>
<p class="hint">${request.description ?? ''} <span>${translate('page.connect.at')} <code>${request.url}</code></span></p>
${request.needsKeys && warning(translate)}
<form id="connect" data-key="${request.publicKey}" data-accepted="${request.acceptedUrl}">
<fieldset>
<legend>${translate('page.connect.may')}</legend>
${request.abilities.map((ability) => choice({ type: 'checkbox', name: 'ability', value: ability, label: translate(`page.ability.${ability}`), checked: true }))}
</fieldset>
${!request.needsKeys && keyChoice(translate)}
<fieldset id="keys"${!request.needsKeys && html` hidden disabled`}>
${!request.needsKeys && warning(translate)}
${field({ id: 'passkey', label: translate('page.handshake.passkey'), type: 'password', autocomplete: 'current-password', hint: translate('page.connect.passkeyHint'), typed: getPasteWarning(translate, canPaste) })}
</fieldset>
<p class="hint">${translate('page.connect.days').replace(':days', String(request.linkDays))}</p>
<p class="hint">${translate('page.connect.back')} <code id="back">${request.redirectUrl}</code></p>
<button disabled>${translate(request.needsKeys ? 'page.connect.agreeWithKeys' : 'page.connect.agree')}</button>
${outcome}
</form>
<p class="actions"><a class="button quiet" id="decline" href="${request.declinedUrl}">${translate('page.connect.decline')}</a></p>`

/** Renders the most prominent warning of the page. */
const warning = (translate: Translate): Html => html`<div class="notice loud" role="alert">
<p><strong>${translate('page.connect.handsOver')}</strong></p>
<p>${translate('page.connect.readsAll')}</p>
</div>`

const keyChoice = (translate: Translate): Html => html`<fieldset>
<legend>${translate('page.connect.keys')}</legend>
${choice({ type: 'radio', name: 'keys', value: '', label: translate('page.connect.withoutKeys'), checked: true })}
${choice({ type: 'radio', name: 'keys', value: 'given', label: translate('page.connect.withKeys'), checked: false })}
</fieldset>`

interface Choice {
  type: 'checkbox' | 'radio'
  name: string
  value: string
  label: string
  checked: boolean
}

const choice = ({ type, name, value, label, checked }: Choice): Html =>
  html`<label class="choice"><input type="${type}" name="${name}" value="${value}"${checked && html` checked`}> ${label}</label>`
