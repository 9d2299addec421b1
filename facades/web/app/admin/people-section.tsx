import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import { formatDateTime } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { ActionButton } from './action-button.tsx'
import { useRecords } from './admin-queries.ts'
import { ChoiceInput, readText } from './form-fields.tsx'
import { StateBadge } from './parts.tsx'
import {
  getRoleLabel,
  getSourceLabel,
  getStateLabel,
  type ListedPerson,
  listRoleChoices,
  listSourceChoices,
  listStateChoices,
  stateKinds,
  usePeople,
} from './people.ts'
import { PersonPage } from './person-page.tsx'
import { ChoiceField, type Column, RecordTable, SearchField } from './record-table.tsx'

const buildColumns = (): Column<ListedPerson>[] => [
  {
    key: 'username',
    label: t('app.admin.username'),
    cell: ({ id, username }) => (
      <Link to="/admin/$section/$id" params={{ section: 'people', id: String(id) }}>
        {username}
      </Link>
    ),
    text: ({ username }) => username,
    isSortable: true,
  },
  {
    key: 'name',
    label: t('app.name'),
    cell: ({ name, email }) => (
      <span>
        {name}
        <span className="sub">{email}</span>
      </span>
    ),
    text: ({ name }) => name,
    isSortable: true,
  },
  { key: 'role', label: t('app.admin.role'), cell: ({ role }) => getRoleLabel(role), text: ({ role }) => role },
  {
    key: 'groups',
    label: t('app.admin.groups'),
    cell: ({ groups }) => groups.join(', '),
    text: ({ groups }) => groups.join(', '),
  },
  {
    key: 'source',
    label: t('app.admin.source'),
    cell: ({ source }) => getSourceLabel(source),
    text: ({ source }) => getSourceLabel(source),
  },
  {
    key: 'signedInAt',
    label: t('app.admin.signedIn'),
    cell: ({ signedInAt }) => (signedInAt ? formatDateTime(signedInAt) : t('app.admin.never')),
    text: ({ signedInAt }) => signedInAt,
    isSortable: true,
  },
  {
    key: 'state',
    label: t('app.admin.state'),
    cell: ({ state }) => <StateBadge kind={stateKinds[state]}>{getStateLabel(state)}</StateBadge>,
    text: ({ state }) => state,
  },
]

export const PeopleSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <PeopleList /> : <PersonPage id={id} />

/** Lists all people of this installation. */
const PeopleList = () => (
  <RecordTable
    label={t('app.admin.people')}
    columns={buildColumns()}
    rowKey={({ id }) => id}
    {...usePeople()}
    none={t('app.admin.nobody')}
    filters={
      <>
        <SearchField name="q" label={t('app.admin.searchPeople')} />
        <ChoiceField name="role" label={t('app.admin.role')} choices={listRoleChoices()} />
        <ChoiceField name="state" label={t('app.admin.state')} choices={listStateChoices()} />
        <ChoiceField name="source" label={t('app.admin.source')} choices={listSourceChoices()} />
        <SearchField name="group" label={t('app.admin.group')} />
      </>
    }
    actions={
      <>
        <InvitePerson />
        <AddPerson />
      </>
    }
  />
)

/** Adds a person. With a password they get a local account. */
const AddPerson = () => (
  <ActionButton
    label={t('app.admin.addPerson')}
    className="button"
    title={t('app.admin.addPerson')}
    action={t('app.admin.add')}
    act={(form) => {
      const password = String(form.get('password') ?? '')
      return api.admin.addUser.mutate({
        ...readAccount(form),
        ...(password !== '' && { password }),
      })
    }}
  >
    <AccountFields />
    <Field
      label={t('app.admin.password')}
      name="password"
      type="password"
      autoComplete="new-password"
      hint={t('app.admin.passwordHint')}
    />
  </ActionButton>
)

/** Creates a local account, and shows once the link that sets its password. */
function InvitePerson() {
  const [invitation, setInvitation] = useState<{ link: string; expiresAt: string }>()
  return (
    <>
      <ActionButton
        label={t('app.admin.invite')}
        title={t('app.admin.invite')}
        text={t('app.admin.inviteText')}
        action={t('app.admin.invite')}
        act={async (form) =>
          setInvitation(
            await api.accountInvitations.create.mutate({
              ...readAccount(form),
            }),
          )
        }
      >
        <AccountFields />
        <OpenInvitations />
      </ActionButton>
      {invitation && (
        <FormDialog title={t('app.admin.invited')} close={() => setInvitation(undefined)}>
          <p>{t('app.admin.invitedText', { time: formatDateTime(invitation.expiresAt) })}</p>
          <Secret label={t('app.admin.link')} text={invitation.link} copyText={t('app.admin.linkCopy')} />
        </FormDialog>
      )}
    </>
  )
}

/** Lists pending invitations, which can be withdrawn. */
function OpenInvitations() {
  const { data = [] } = useRecords(['invitations'], (signal) =>
    api.accountInvitations.list.query(undefined, { signal }),
  )
  if (data.length === 0) return null
  return (
    <section aria-label={t('app.admin.openInvitations')}>
      <h3>{t('app.admin.openInvitations')}</h3>
      <ul className="open-invitations">
        {data.map(({ userId, username, expiresAt }) => (
          <li key={userId}>
            {t('app.admin.openUntil', { name: username, time: formatDateTime(expiresAt) })}
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

/** The fields of a new account. */
const AccountFields = () => (
  <>
    <Field label={t('app.admin.username')} name="username" required autoComplete="off" maxLength={200} />
    <Field label={t('app.name')} name="name" required autoComplete="off" maxLength={120} />
    <Field label={t('app.settings.email')} name="email" type="email" required autoComplete="off" />
    <ChoiceInput label={t('app.admin.role')} name="role" value="user" choices={listRoleChoices()} />
  </>
)

const readAccount = (form: FormData) => ({
  username: readText(form, 'username'),
  email: readText(form, 'email'),
  name: readText(form, 'name'),
  role: readText(form, 'role') === 'admin' ? ('admin' as const) : ('user' as const),
})
