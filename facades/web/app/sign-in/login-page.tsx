import { SvcError } from '../../../client/index.ts'
import { api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { siteName } from '../shared/site.ts'
import { hasLabel, t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { getButtonClass } from '../shared/ui/button.tsx'
import { Field } from '../shared/ui/field.tsx'
import { Notice } from '../shared/ui/notice.tsx'
import { pageData } from './page-data.ts'
import { getReturnPath, go, takeReturnPath } from './return-path.ts'

/** Signs in by a password, or leads to a provider. */
export function LoginPage() {
  const { password, elsewhere } = pageData.login
  return (
    <>
      <AddressNotice />
      <ArrivalNotice />
      <p>{t('page.login.what', { name: siteName })}</p>
      {password && <PasswordForm />}
      {elsewhere && (
        <a className={getButtonClass('primary')} href={`/req/login${writeQuery()}`}>
          {t('page.login.oidc')}
        </a>
      )}
      {!password && !elsewhere && <Notice>{t('page.login.noWay')}</Notice>}
    </>
  )
}

/** Says that the page was opened at another address than BASE_URL; proxies may hide this from the service. */
function AddressNotice() {
  const { baseUrl } = pageData
  if (new URL(baseUrl).origin === location.origin) return null
  return (
    <Notice id="other-address">
      {t('page.login.otherAddress', { here: location.origin })} <a href={baseUrl}>{baseUrl}</a>
    </Notice>
  )
}

/** Says why somebody has come here: a sign-in at a provider has failed, or the session has ended. */
function ArrivalNotice() {
  const query = new URLSearchParams(location.search)
  const error = query.get('error')
  if (error !== null)
    return (
      <Notice kind="error" role="alert">
        {t(describeRefusal(error))}
      </Notice>
    )
  return query.has('ended') ? <Notice role="status">{t('page.login.ended')}</Notice> : null
}

/** Returns the label for an error code of a provider, where no password was typed. */
const describeRefusal = (code: string) =>
  /^(account_|username_|email_|too_many|unavailable)/.test(code) && hasLabel(`page.error.${code}`)
    ? `page.error.${code}`
    : 'page.login.elsewhereFailed'

const writeQuery = () => {
  const redirectUri = new URLSearchParams(location.search).get('redirectUri')
  return redirectUri === null ? '' : `?redirectUri=${encodeURIComponent(redirectUri)}`
}

const PasswordForm = () => (
  <ActionForm id="login" label={t('page.login.title')} submitText={t('page.login.submit')} submit={signIn}>
    <Field label={t('page.login.account')} name="account" autoComplete="username" maxLength={200} required />
    <Field
      label={t('page.login.password')}
      name="password"
      type="password"
      autoComplete="current-password"
      maxLength={1024}
      required
    />
  </ActionForm>
)

async function signIn(form: HTMLFormElement): Promise<never> {
  const credentials = { account: readField(form, 'account'), password: readField(form, 'password') }
  const returnPath = getReturnPath()
  const { redirectUri } = await api.sessions.login
    .mutate({ ...credentials, redirectUri: returnPath })
    .catch((error: unknown) => {
      const key = error instanceof SvcError ? refusalTexts[error.code] : undefined
      throw key === undefined ? error : new InputError(t(key))
    })
  // No page on the way takes it.
  if (redirectUri === returnPath) takeReturnPath()
  return go(redirectUri)
}

const refusalTexts: Partial<Record<SvcError['code'], string>> = {
  invalid: 'page.login.failed',
  login_failed: 'page.login.failed',
  too_many_requests: 'page.error.too_many_requests',
}
