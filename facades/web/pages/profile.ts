import { type Html, html } from '../html.ts'
import { field, outcome, secret, type Translate, typedOnly } from '../layout.ts'

/** What the person may do here. */
interface Allowed {
  tokens: boolean
  /** Where the service itself keeps the person's password. */
  password: boolean
  paste: boolean
  /** Largest picture, in bytes. */
  pictureBytes: number
}

export const profileBody = (translate: Translate, announcements: Html, allowed: Allowed): Html => html`
${announcements}
<p id="locked" class="notice" hidden>${translate('page.profile.locked')} <a href="/handshake">${translate('page.profile.unlock')}</a></p>
${section('about', translate('page.profile.aboutTitle'), aboutForm(translate, allowed.pictureBytes))}
${section('tokens', translate('page.profile.tokensTitle'), allowed.tokens ? tokenForms(translate) : html`<p id="tokens-off">${translate('page.profile.tokensOff')}</p>`)}
${section(
  'apps',
  translate('page.profile.appsTitle'),
  html`<p>${translate('page.profile.appsIntro')}</p>
<ul id="apps" aria-busy="true"></ul>
<p id="apps-outcome" class="outcome" role="status"></p>`,
)}
${section(
  'approvals',
  translate('page.profile.approvalsTitle'),
  html`<p>${translate('page.profile.approvalsIntro')}</p>
<ul id="approvals" aria-busy="true"></ul>
<p id="approvals-outcome" class="outcome" role="status"></p>`,
)}
${allowed.password && section('password', translate('page.profile.passwordTitle'), passwordForm(translate))}
${section('code', translate('page.profile.codeTitle'), codeForm(translate, allowed.paste))}
${section(
  'usage',
  translate('page.profile.usageTitle'),
  html`<div id="limits" aria-busy="true"></div>
<div id="usage" aria-busy="true"></div>`,
)}
${section('sessions', translate('page.profile.sessionsTitle'), sessionForms(translate))}`

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
const aboutForm = (translate: Translate, pictureBytes: number): Html => html`
<img id="picture" alt="" width="96" height="96" hidden>
<form id="about">
${field({ id: 'name', label: translate('page.profile.name'), autocomplete: 'name', max: 120 })}
<label for="bio">${translate('page.profile.bio')}</label>
<textarea id="bio" name="bio" rows="3" maxlength="2000"></textarea>
<label for="avatar">${translate('page.profile.avatar')}</label>
<div class="file">
<input id="avatar" name="avatar" type="file" accept="${pictureTypes.join()}" aria-describedby="avatar-hint" data-max="${pictureBytes}">
<label for="avatar" class="button quiet">${translate('page.profile.avatarChoose')}</label>
<span id="avatar-name"></span>
</div>
<p class="hint" id="avatar-hint">${translate('page.profile.avatarHint').replace(':size', sizeOf(pictureBytes))}</p>
<button disabled>${translate('page.profile.save')}</button>
${outcome}
</form>`

/** For how many days a token may be made. */
const lifetimes = [7, 30, 90, 365]
const usualDays = 90

const tokenForms = (translate: Translate): Html => html`
<p>${translate('page.profile.tokensIntro')}</p>
<ul id="tokens" aria-busy="true"></ul>
<p id="tokens-outcome" class="outcome" role="status"></p>
<form id="create">
<div class="pair">
<div>${field({ id: 'token-name', label: translate('page.profile.tokenName'), autocomplete: 'off', max: 16, hint: translate('page.profile.tokenNameHint') })}</div>
<div><label for="token-days">${translate('page.profile.tokenDays')}</label>
<select id="token-days" name="token-days">
${lifetimes.map((days) => html`<option value="${days}"${days === usualDays && html` selected`}>${translate('page.profile.tokenForDays').replace(':days', String(days))}</option>`)}
<option value="">${translate('page.profile.tokenForever')}</option>
</select></div>
</div>
<button disabled>${translate('page.profile.tokenMake')}</button>
${outcome}
${secret(translate, 'token')}
</form>`

const passwordForm = (translate: Translate): Html => html`
<p>${translate('page.profile.passwordIntro')}</p>
<form id="password">
${field({ id: 'current-password', label: translate('page.profile.passwordCurrent'), type: 'password', autocomplete: 'current-password', max: 1024 })}
${field({ id: 'new-password', label: translate('page.profile.passwordNew'), type: 'password', autocomplete: 'new-password', max: 1024, hint: translate('page.profile.passwordHint') })}
${field({ id: 'repeat-password', label: translate('page.profile.passwordRepeat'), type: 'password', autocomplete: 'new-password', max: 1024 })}
<button disabled>${translate('page.profile.passwordChange')}</button>
${outcome}
</form>`

const codeForm = (translate: Translate, mayPaste: boolean): Html => html`
<p>${translate('page.profile.codeIntro')}</p>
<form id="renew">
${field({ id: 'passkey', label: translate('page.handshake.passkey'), type: 'password', autocomplete: 'current-password', hint: translate('page.passkey.what'), typed: typedOnly(translate, mayPaste) })}
<button disabled>${translate('page.profile.codeMake')}</button>
${outcome}
${secret(translate, 'code')}
</form>`

const sessionForms = (translate: Translate): Html => html`
<p>${translate('page.profile.sessionsIntro')}</p>
<ul id="sessions" aria-busy="true"></ul>
<p id="sessions-outcome" class="outcome" role="status"></p>
<div class="actions">
<form id="others" hidden><button disabled class="quiet">${translate('page.profile.sessionOthers')}</button>${outcome}</form>
<form id="everywhere"><button disabled class="danger">${translate('page.profile.everywhere')}</button>${outcome}</form>
</div>`
