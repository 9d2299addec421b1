import { useState } from 'react'
import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { minuteText } from '../../shared/text/moments.ts'
import { Field } from '../../shared/ui/field.tsx'
import { FormDialog } from '../../shared/ui/form-dialog.tsx'
import { Secret } from '../../shared/ui/secret.tsx'
import { ActionButton, readText } from '../action-dialog.tsx'
import { useRead } from '../admin-queries.ts'
import { ChoiceInput } from '../choice-input.tsx'
import { roleChoices } from './people.ts'

/** Makes a local account whose password is set by a link, and shows the link once. */
export function InvitePerson() {
  const [made, setMade] = useState<{ link: string; expiresAt: string }>()
  return (
    <>
      <ActionButton
        label={t('app.admin.invite')}
        title={t('app.admin.invite')}
        text={t('app.admin.inviteText')}
        action={t('app.admin.invite')}
        act={async (form) =>
          setMade(
            await api.accountInvitations.create.mutate({
              username: readText(form, 'username'),
              email: readText(form, 'email'),
              name: readText(form, 'name'),
              role: readText(form, 'role') === 'admin' ? 'admin' : 'user',
            }),
          )
        }
      >
        <Field label={t('app.admin.username')} name="username" required autoComplete="off" maxLength={200} />
        <Field label={t('app.name')} name="name" required autoComplete="off" maxLength={120} />
        <Field label={t('app.settings.email')} name="email" type="email" required autoComplete="off" />
        <ChoiceInput label={t('app.admin.role')} name="role" value="user" choices={roleChoices()} />
        <OpenInvitations />
      </ActionButton>
      {made && (
        <FormDialog title={t('app.admin.invited')} close={() => setMade(undefined)}>
          <p>{t('app.admin.invitedText', { time: minuteText(made.expiresAt) })}</p>
          <Secret label={t('app.admin.link')} text={made.link} copyText={t('app.admin.linkCopy')} />
        </FormDialog>
      )}
    </>
  )
}

/** Links that still wait; one ends by hand, or with a newer one. */
function OpenInvitations() {
  const { data = [] } = useRead(['invitations'], (signal) => api.accountInvitations.list.query(undefined, { signal }))
  if (data.length === 0) return null
  return (
    <section aria-label={t('app.admin.openInvitations')}>
      <h3>{t('app.admin.openInvitations')}</h3>
      <ul className="open-invitations">
        {data.map(({ userId, username, expiresAt }) => (
          <li key={userId}>
            {t('app.admin.openUntil', { name: username, time: minuteText(expiresAt) })}
            <ActionButton
              label={t('app.admin.endInvitation')}
              className="plain-button"
              title={t('app.admin.endInvitation')}
              text={t('app.admin.endInvitationText', { name: username })}
              action={t('app.admin.endInvitation')}
              act={() => api.accountInvitations.end.mutate({ user: { id: String(userId) } })}
            />
          </li>
        ))}
      </ul>
    </section>
  )
}
