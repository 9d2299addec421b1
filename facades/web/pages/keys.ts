import { type Html, html } from '../html.ts'
import { field, outcome, type Say, secret, typedOnly } from '../layout.ts'

/** Where the first keys are made. */
export const handshakeBody = (say: Say, mayPaste: boolean): Html => html`
<section id="make">
<p>${say('page.handshake.intro')}</p>
<p class="notice">${say('page.passkey.what')}</p>
<form id="handshake">
${field({ id: 'passkey', label: say('page.handshake.passkey'), type: 'password', autocomplete: 'new-password', hint: say('page.handshake.hint'), typed: typedOnly(say, mayPaste) })}
${field({ id: 'repeat', label: say('page.handshake.repeat'), type: 'password', autocomplete: 'new-password', typed: typedOnly(say, mayPaste) })}
<button disabled>${say('page.handshake.submit')}</button>
${outcome}
</form>
</section>
<section id="kept" hidden>
<p>${say('page.handshake.codeIntro')}</p>
${secret(say, 'code')}
<p class="actions"><a class="button" id="on" href="/profile">${say('page.handshake.done')}</a></p>
</section>`

/** Where somebody who has keys opens them, gets the passkey back, or starts anew. */
export const unlockBody = (say: Say, mayPaste: boolean): Html => html`
<p>${say('page.unlock.intro')}</p>
<form id="unlock">
${field({ id: 'passkey', label: say('page.handshake.passkey'), type: 'password', autocomplete: 'current-password', hint: say('page.passkey.what'), typed: typedOnly(say, mayPaste) })}
<button disabled>${say('page.unlock.submit')}</button>
${outcome}
</form>
<details>
<summary>${say('page.unlock.recoverTitle')}</summary>
<form id="recover">
${field({ id: 'code', label: say('page.unlock.code'), autocomplete: 'off', max: 40 })}
<button disabled>${say('page.unlock.recover')}</button>
${outcome}
${secret(say, 'recovered')}
</form>
<h2>${say('page.unlock.resetTitle')}</h2>
<p>${say('page.unlock.resetIntro')}</p>
<form id="reset"><button disabled class="danger">${say('page.unlock.reset')}</button>${outcome}</form>
</details>`
