import { type Html, html } from '../html.ts'
import { field, outcome, type Say, secret, typedOnly } from '../layout.ts'

/** What the person may do here. */
interface Allowed {
  tokens: boolean
  /** Where the service itself keeps the person's password. */
  password: boolean
  paste: boolean
  /** Largest picture, in bytes. */
  pictureBytes: number
}

export const profileBody = (say: Say, allowed: Allowed): Html => html`
<p id="locked" class="notice" hidden>${say('page.profile.locked')} <a href="/handshake">${say('page.profile.unlock')}</a></p>
${section('about', say('page.profile.aboutTitle'), aboutForm(say, allowed.pictureBytes))}
${section('tokens', say('page.profile.tokensTitle'), allowed.tokens ? tokenForms(say) : html`<p id="tokens-off">${say('page.profile.tokensOff')}</p>`)}
${allowed.password && section('password', say('page.profile.passwordTitle'), passwordForm(say))}
${section('code', say('page.profile.codeTitle'), codeForm(say, allowed.paste))}
${section('usage', say('page.profile.usageTitle'), html`<div id="usage" aria-busy="true"></div>`)}
${section('sessions', say('page.profile.sessionsTitle'), sessionForms(say))}`

/** Its title takes the focus when what had it is gone. */
const section = (name: string, title: string, body: Html): Html => html`<section aria-labelledby="${name}-title">
<h2 id="${name}-title" tabindex="-1">${title}</h2>
${body}
</section>`

const pictureTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']

const KB = 1024
const MB = 1024 * KB
const sizeOf = (bytes: number) => (bytes < MB ? `${Math.floor(bytes / KB)} KB` : `${Math.floor(bytes / MB)} MB`)

/** The browser writes its own words beside a file field, in its own language, so a label stands in for the field. */
const aboutForm = (say: Say, pictureBytes: number): Html => html`
<img id="picture" alt="" width="96" height="96" hidden>
<form id="about">
${field({ id: 'name', label: say('page.profile.name'), autocomplete: 'name', max: 120 })}
<label for="bio">${say('page.profile.bio')}</label>
<textarea id="bio" name="bio" rows="3" maxlength="2000"></textarea>
<label for="avatar">${say('page.profile.avatar')}</label>
<div class="file">
<input id="avatar" name="avatar" type="file" accept="${pictureTypes.join()}" aria-describedby="avatar-hint" data-max="${pictureBytes}">
<label for="avatar" class="button quiet">${say('page.profile.avatarChoose')}</label>
<span id="avatar-name"></span>
</div>
<p class="hint" id="avatar-hint">${say('page.profile.avatarHint').replace(':size', sizeOf(pictureBytes))}</p>
<button disabled>${say('page.profile.save')}</button>
${outcome}
</form>`

/** For how many days a token may be made. */
const lifetimes = [7, 30, 90, 365]
const usualDays = 90

const tokenForms = (say: Say): Html => html`
<p>${say('page.profile.tokensIntro')}</p>
<ul id="tokens" aria-busy="true"></ul>
<p id="tokens-outcome" class="outcome" role="status"></p>
<form id="create">
<div class="pair">
<div>${field({ id: 'token-name', label: say('page.profile.tokenName'), autocomplete: 'off', max: 16, hint: say('page.profile.tokenNameHint') })}</div>
<div><label for="token-days">${say('page.profile.tokenDays')}</label>
<select id="token-days" name="token-days">
${lifetimes.map((days) => html`<option value="${days}"${days === usualDays && html` selected`}>${say('page.profile.tokenForDays').replace(':days', String(days))}</option>`)}
<option value="">${say('page.profile.tokenForever')}</option>
</select></div>
</div>
<button disabled>${say('page.profile.tokenMake')}</button>
${outcome}
${secret(say, 'token')}
</form>`

const passwordForm = (say: Say): Html => html`
<p>${say('page.profile.passwordIntro')}</p>
<form id="password">
${field({ id: 'current-password', label: say('page.profile.passwordCurrent'), type: 'password', autocomplete: 'current-password', max: 1024 })}
${field({ id: 'new-password', label: say('page.profile.passwordNew'), type: 'password', autocomplete: 'new-password', max: 1024, hint: say('page.profile.passwordHint') })}
${field({ id: 'repeat-password', label: say('page.profile.passwordRepeat'), type: 'password', autocomplete: 'new-password', max: 1024 })}
<button disabled>${say('page.profile.passwordChange')}</button>
${outcome}
</form>`

const codeForm = (say: Say, mayPaste: boolean): Html => html`
<p>${say('page.profile.codeIntro')}</p>
<form id="renew">
${field({ id: 'passkey', label: say('page.handshake.passkey'), type: 'password', autocomplete: 'current-password', hint: say('page.passkey.what'), typed: typedOnly(say, mayPaste) })}
<button disabled>${say('page.profile.codeMake')}</button>
${outcome}
${secret(say, 'code')}
</form>`

const sessionForms = (say: Say): Html => html`
<p>${say('page.profile.sessionsIntro')}</p>
<ul id="sessions" aria-busy="true"></ul>
<p id="sessions-outcome" class="outcome" role="status"></p>
<div class="actions">
<form id="others" hidden><button disabled class="quiet">${say('page.profile.sessionOthers')}</button>${outcome}</form>
<form id="everywhere"><button disabled class="danger">${say('page.profile.everywhere')}</button>${outcome}</form>
</div>`
