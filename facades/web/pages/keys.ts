import { type Html, html } from '../html.ts'
import { field, getPasteWarning, outcome, secret, type Translate } from '../layout.ts'

/** The policy that is accepted with the first keys. */
interface ShownPolicy {
  id: string
  version: string
  body: Html
}

interface PasskeyInput {
  canPaste: boolean
  /** True if only letters, digits and a few signs are allowed. */
  isRestricted: boolean
}

/** Renders the page to create the first keys. */
export const handshakeBody = (
  translate: Translate,
  { canPaste, isRestricted }: PasskeyInput,
  policy: ShownPolicy | undefined,
): Html => html`
<section id="make">
<p>${translate('page.handshake.intro')}</p>
<p class="notice">${translate('page.passkey.what')}</p>
${
  policy &&
  html`<h2>${translate('page.register.policyTitle')}</h2>
${policy.body}`
}
<form id="handshake"${policy && html` data-policy="${policy.id}" data-version="${policy.version}"`}>
${field({ id: 'passkey', label: translate('page.handshake.passkey'), type: 'password', autocomplete: 'new-password', hint: translate(isRestricted ? 'page.handshake.hint' : 'page.handshake.freeHint'), typed: getPasteWarning(translate, canPaste) })}
${field({ id: 'repeat', label: translate('page.handshake.repeat'), type: 'password', autocomplete: 'new-password', typed: getPasteWarning(translate, canPaste) })}
<button disabled>${translate('page.handshake.submit')}</button>
${outcome}
</form>
</section>
<section id="kept" hidden>
<p>${translate('page.handshake.codeIntro')}</p>
${secret(translate, 'code')}
<p class="actions"><a class="button" id="on" href="/chat">${translate('page.handshake.done')}</a></p>
</section>`

/** Renders the page to unlock, recover or reset keys. */
export const unlockBody = (translate: Translate, canPaste: boolean): Html => html`
<p>${translate('page.unlock.intro')}</p>
<form id="unlock">
${field({ id: 'passkey', label: translate('page.handshake.passkey'), type: 'password', autocomplete: 'current-password', hint: translate('page.passkey.what'), typed: getPasteWarning(translate, canPaste) })}
<button disabled>${translate('page.unlock.submit')}</button>
${outcome}
</form>
<details>
<summary>${translate('page.unlock.recoverTitle')}</summary>
<form id="recover">
${field({ id: 'code', label: translate('page.unlock.code'), autocomplete: 'off', max: 40 })}
<button disabled>${translate('page.unlock.recover')}</button>
${outcome}
${secret(translate, 'recovered')}
</form>
<h2>${translate('page.unlock.resetTitle')}</h2>
<p>${translate('page.unlock.resetIntro')}</p>
<form id="reset"><button disabled class="danger">${translate('page.unlock.reset')}</button>${outcome}</form>
</details>`
