import { useQuery } from '@tanstack/react-query'
import { type FormEvent, useEffect, useId, useState, useSyncExternalStore } from 'react'
import { SvcError } from '../../../client/index.ts'
import { api, signInApi } from './api/client.ts'
import { beginSession } from './api/session-end.ts'
import { Listeners } from './listeners.ts'
import { useSession } from './session.tsx'
import { t } from './text/labels.ts'
import { Button, getButtonClass } from './ui/button.tsx'
import { Dialog, DialogClose, DialogForm, DialogText } from './ui/dialog.tsx'
import { ErrorMessage } from './ui/error-message.tsx'
import { Field } from './ui/field.tsx'
import { Toolbar } from './ui/toolbar.tsx'

interface SignInRequest {
  /** True if the person has gone to another tab to sign in for this call. */
  wasElsewhere: boolean
  retry: (isElsewhere: boolean) => void
  cancel: () => void
}

/** The pending request to sign in. Of the mounted dialogs, the newest one shows it. */
let signInRequest: SignInRequest | undefined
/** Resolves with true if the person has gone to another tab to sign in. */
let pendingSignIn: Promise<boolean> | undefined
let hosts: readonly string[] = []
const listeners = new Listeners()

const isFreshLoginError = (error: unknown) => error instanceof SvcError && error.code === 'fresh_login_needed'

/** Makes a call. If the service requires a fresh sign-in, asks for it and makes the call again. */
export async function withFreshSession<Result>(call: () => Promise<Result>): Promise<Result> {
  let isElsewhere = false
  for (;;)
    try {
      return await call()
    } catch (error) {
      if (!isFreshLoginError(error)) throw error
      pendingSignIn ??= askToSignIn(error, isElsewhere)
      isElsewhere = await pendingSignIn
    }
}

function askToSignIn(error: unknown, wasElsewhere: boolean): Promise<boolean> {
  const { promise: request, resolve, reject } = Promise.withResolvers<boolean>()
  signInRequest = { wasElsewhere, retry: resolve, cancel: () => reject(error) }
  listeners.notify()
  return request.finally(() => {
    signInRequest = undefined
    pendingSignIn = undefined
    listeners.notify()
  })
}

/** Asks for a fresh sign-in when a call needs one. The page and each dialog above it contain one. */
export function FreshSessionDialog() {
  const id = useId()
  useEffect(() => {
    hosts = [...hosts, id]
    listeners.notify()
    return () => {
      hosts = hosts.filter((each) => each !== id)
      listeners.notify()
    }
  }, [id])
  const request = useSyncExternalStore(listeners.subscribe, () => (hosts.at(-1) === id ? signInRequest : undefined))
  return request ? <SignInDialog {...request} /> : null
}

/** Asks for the password, or for a sign-in in another tab, and then repeats the call. */
function SignInDialog({ wasElsewhere, retry, cancel }: SignInRequest) {
  const { data } = useQuery({ queryKey: ['login'], queryFn: () => api.pages.visit.query({ page: 'login' }) })
  const [isElsewhere, setElsewhere] = useState(wasElsewhere)
  useEffect(() => {
    // Windows of password managers take the focus as well, and a retry would clear the password.
    if (!isElsewhere) return
    const retryOnReturn = () => retry(true)
    addEventListener('focus', retryOnReturn)
    return () => removeEventListener('focus', retryOnReturn)
  }, [isElsewhere, retry])
  return (
    <Dialog isAlert title={t('app.admin.fresh')} close={cancel}>
      <DialogText>{t('app.admin.freshText')}</DialogText>
      {data?.login.password && <PasswordForm done={() => retry(isElsewhere)} />}
      <Toolbar align="end">
        <DialogClose>{t('page.cancel')}</DialogClose>
        {data?.login.elsewhere && (
          <a
            className={getButtonClass('primary')}
            href="/req/login?redirectUri=%2Fchat"
            target="_blank"
            rel="noreferrer"
            onClick={() => setElsewhere(true)}
          >
            {t('page.login.oidc')}
          </a>
        )}
      </Toolbar>
    </Dialog>
  )
}

function PasswordForm({ done }: { done: () => void }) {
  const { connection } = useSession()
  const [state, setState] = useState<'ready' | 'working' | { error: unknown }>('ready')
  const account = connection.userinfo?.username ?? ''
  const signIn = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    // React events bubble to the form of the dialog below.
    event.stopPropagation()
    if (state === 'working') return
    const password = String(new FormData(event.currentTarget).get('password'))
    setState('working')
    try {
      await signInApi.sessions.login.mutate({ account, password })
    } catch (error) {
      return setState({ error })
    }
    beginSession()
    done()
  }
  return (
    <DialogForm onSubmit={signIn}>
      <Field label={t('page.login.account')} name="account" value={account} readOnly autoComplete="username" />
      <Field
        label={t('page.login.password')}
        name="password"
        type="password"
        autoComplete="current-password"
        required
        autoFocus
      />
      {typeof state === 'object' && <ErrorMessage error={state.error} />}
      <Toolbar align="end">
        <Button type="submit" kind="primary" disabled={state === 'working'}>
          {t('page.login.submit')}
        </Button>
      </Toolbar>
    </DialogForm>
  )
}
