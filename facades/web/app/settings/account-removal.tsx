import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { forgetKeys } from '../../browser/keystore.ts'
import { api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { dropClosingGuards } from '../shared/closing-guard.ts'
import { FreshSessionDialog, withFreshSession } from '../shared/fresh-session.tsx'
import { removeStored } from '../shared/local-store.ts'
import { announcePerson } from '../shared/person-change.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { Field } from '../shared/ui/field.tsx'
import { FormDialog, KEEP_OPEN } from '../shared/ui/form-dialog.tsx'
import { SettingsSection } from './settings-section.tsx'

/** Removes the person's account, where the installation allows it. */
export function AccountRemoval() {
  const [isOpen, setOpen] = useState(false)
  const { data } = useQuery({
    queryKey: ['account-removal'],
    queryFn: ({ signal }) => api.ownAccount.removal.query(undefined, { signal }),
  })
  if (!data?.isAllowed) return null
  return (
    <SettingsSection title={t('app.settings.removalTitle')}>
      <Consequences />
      <p>
        <Button kind="danger" onClick={() => setOpen(true)}>
          {t('app.settings.removalBegin')}
        </Button>
      </p>
      {isOpen && <RemovalDialog close={() => setOpen(false)} />}
    </SettingsSection>
  )
}

const Consequences = () => (
  <>
    <p>{t('app.settings.removalGoes')}</p>
    <p>{t('app.settings.removalStays')}</p>
  </>
)

function RemovalDialog({ close }: { close: () => void }) {
  const { connection } = useSession()
  const username = connection.userinfo?.username ?? ''
  const remove = async (form: FormData) => {
    if (form.get('username') !== username) throw new InputError(t('app.settings.removalWrong'))
    const { redirectUri } = await withFreshSession(() => api.ownAccount.remove.mutate({ username }))
    removeStored(String(connection.userinfo?.id))
    await forgetKeys().catch(() => undefined)
    // The other tabs reload, so that nothing decrypted outlasts the account.
    announcePerson(null)
    dropClosingGuards()
    location.replace(redirectUri)
    return KEEP_OPEN
  }
  return (
    <FormDialog
      title={t('app.settings.removalTitle')}
      save={remove}
      action={t('app.settings.removalEnd')}
      isDangerous
      close={close}
    >
      <Consequences />
      <Field
        label={t('app.settings.removalUsername', { username })}
        name="username"
        required
        maxLength={255}
        autoComplete="off"
      />
      <FreshSessionDialog />
    </FormDialog>
  )
}
