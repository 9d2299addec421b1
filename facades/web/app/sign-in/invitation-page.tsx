import { useEffect, useState } from 'react'
import { SvcError } from '../../../client/index.ts'
import { api } from '../shared/api/client.ts'
import { describeError, InputError } from '../shared/api/error-text.ts'
import { t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { getButtonClass } from '../shared/ui/button.tsx'
import { Field } from '../shared/ui/field.tsx'
import { Notice } from '../shared/ui/notice.tsx'

const STORAGE_KEY = 'account invitation'

/** Moves the secret from the address, and so from the browser history, to this tab, where it survives a reload. */
export function takeSecret(): void {
  if (location.hash !== '') sessionStorage.setItem(STORAGE_KEY, location.hash.slice(1))
  history.replaceState(history.state, '', location.pathname + location.search)
}

const readSecret = () => sessionStorage.getItem(STORAGE_KEY) ?? ''

interface Person {
  username: string
  name: string
}

type State =
  | { kind: 'opening' }
  | { kind: 'open'; person: Person }
  | { kind: 'done' }
  | { kind: 'failed'; text: string }

/** Lets an invited person set their password. The secret of the link never reaches a server with the page. */
export function InvitationPage() {
  const [state, setState] = useState<State>({ kind: 'opening' })
  useEffect(() => {
    let isShown = true
    openInvitation().then((opened) => isShown && setState(opened))
    return () => {
      isShown = false
    }
  }, [])
  switch (state.kind) {
    case 'opening':
      return <p role="status">{t('page.working')}</p>
    case 'open':
      return <InvitationForm person={state.person} onDone={() => setState({ kind: 'done' })} />
    case 'done':
      return <Ending kind="info" text={t('page.invitation.done')} />
    case 'failed':
      return <Ending kind="error" text={state.text} />
  }
}

async function openInvitation(): Promise<State> {
  try {
    return { kind: 'open', person: await api.accountInvitations.open.mutate({ secret: readSecret() }) }
  } catch (error) {
    // A secret that was copied in part is refused with 400.
    const isUnusable = isInvalid(error) || (error instanceof SvcError && error.status === 400)
    return { kind: 'failed', text: isUnusable ? t('page.error.invitation_invalid') : describeError(error) }
  }
}

const isInvalid = (error: unknown) => error instanceof SvcError && error.status === 422

const Ending = ({ kind, text }: { kind: 'info' | 'error'; text: string }) => (
  <>
    <Notice kind={kind} role="status">
      <p>{text}</p>
    </Notice>
    <a className={getButtonClass('primary')} href="/login">
      {t('page.login.submit')}
    </a>
  </>
)

function InvitationForm({ person: { username, name }, onDone }: { person: Person; onDone: () => void }) {
  const setPassword = async (form: HTMLFormElement) => {
    const password = readField(form, 'password')
    if (password !== readField(form, 'repeat')) throw new InputError(t('page.invitation.differ'))
    await api.accountInvitations.accept.mutate({ secret: readSecret(), password }).catch((error: unknown) => {
      throw isInvalid(error) ? new InputError(t('page.invitation.weak')) : error
    })
    sessionStorage.removeItem(STORAGE_KEY)
    onDone()
    return undefined
  }
  return (
    <>
      <p role="status">{t('page.invitation.intro', { name, username })}</p>
      <ActionForm
        id="invitation"
        label={t('page.invitation.title')}
        submitText={t('page.invitation.submit')}
        submit={setPassword}
      >
        <input name="username" autoComplete="username" value={username} readOnly hidden />
        <Field
          {...passwordField}
          label={t('page.invitation.password')}
          name="password"
          hint={t('page.invitation.hint')}
          autoFocus
        />
        <Field {...passwordField} label={t('page.invitation.repeat')} name="repeat" />
      </ActionForm>
    </>
  )
}

const passwordField = { type: 'password', autoComplete: 'new-password', maxLength: 1024, required: true } as const
