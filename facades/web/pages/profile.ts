import { type Html, html } from '../html.ts'
import { field, outcome, type Say, typedOnly } from '../layout.ts'

/** What the settings let people do. */
interface Allowed {
  tokens: boolean
  paste: boolean
}

export const profileBody = (say: Say, allowed: Allowed): Html => html`
<p id="locked" class="notice" hidden>${say('page.profile.locked')} <a href="/handshake">${say('page.profile.unlock')}</a></p>
<section aria-labelledby="about-title">
<h2 id="about-title">${say('page.profile.aboutTitle')}</h2>
<img id="picture" alt="" width="96" height="96" hidden>
<form id="about">
${field({ id: 'name', label: say('page.profile.name'), autocomplete: 'name', max: 120 })}
<label for="bio">${say('page.profile.bio')}</label>
<textarea id="bio" name="bio" rows="3" maxlength="2000"></textarea>
<label for="avatar">${say('page.profile.avatar')}</label>
<input id="avatar" name="avatar" type="file" accept="image/png,image/jpeg,image/webp,image/gif,image/avif">
<button disabled>${say('page.profile.save')}</button>
${outcome}
</form>
</section>
<section aria-labelledby="tokens-title">
<h2 id="tokens-title">${say('page.profile.tokensTitle')}</h2>
${allowed.tokens ? tokenForms(say) : html`<p id="tokens-off">${say('page.profile.tokensOff')}</p>`}
</section>
<section aria-labelledby="code-title">
<h2 id="code-title">${say('page.profile.codeTitle')}</h2>
<p>${say('page.profile.codeIntro')}</p>
<form id="renew">
${field({ id: 'passkey', label: say('page.handshake.passkey'), type: 'password', autocomplete: 'current-password', typed: typedOnly(say, allowed.paste) })}
<button disabled>${say('page.profile.codeMake')}</button>
${outcome}
<p><output id="code" class="secret"></output></p>
</form>
</section>
<section aria-labelledby="usage-title">
<h2 id="usage-title">${say('page.profile.usageTitle')}</h2>
<div id="usage"></div>
</section>
<section aria-labelledby="sessions-title">
<h2 id="sessions-title">${say('page.profile.sessionsTitle')}</h2>
<p>${say('page.profile.sessionsIntro')}</p>
<ul id="sessions"></ul>
<form id="others" hidden><button disabled>${say('page.profile.sessionOthers')}</button>${outcome}</form>
<form id="everywhere"><button class="danger" disabled>${say('page.profile.everywhere')}</button>${outcome}</form>
</section>`

const tokenForms = (say: Say): Html => html`<ul id="tokens"></ul>
<form id="create">
${field({ id: 'token-name', label: say('page.profile.tokenName'), autocomplete: 'off', max: 16 })}
<button disabled>${say('page.profile.tokenMake')}</button>
${outcome}
<p><output id="token" class="secret"></output></p>
</form>`
