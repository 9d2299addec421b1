import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import { formatDateTime } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { CellText } from '../shared/ui/table.tsx'
import { ActionButton } from './action-button.tsx'
import { useRecords } from './admin-queries.ts'
import { columnsOf, stateColumn } from './columns.tsx'
import {
  getSourceLabel,
  getStateLabel,
  type ListedPerson,
  listRoleChoices,
  listSourceChoices,
  listStateChoices,
  stateKinds,
  toPeopleCriteria,
} from './people.ts'
import styles from './people-section.module.css'
import { PersonPage } from './person-page.tsx'
import { defineForm, FormButton } from './record-form.tsx'
import { ChoiceField, SearchField } from './record-table.tsx'
import { definePagedSection } from './section.tsx'

const column = columnsOf<ListedPerson>('admin.addUser')

const columns = [
  column('username', {
    cell: ({ id, username }) => (
      <Link to="/admin/$section/$id" params={{ section: 'people', id: String(id) }}>
        {username}
      </Link>
    ),
    isSortable: true,
  }),
  column('name', {
    cell: ({ name, email }) => (
      <CellText
        note={
          <span className={styles.address} title={email}>
            {email}
          </span>
        }
      >
        {name}
      </CellText>
    ),
    isSortable: true,
  }),
  column('role'),
  column('groups'),
  column('source', {
    label: t('app.admin.source'),
    cell: ({ source }) => getSourceLabel(source),
    text: ({ source }) => getSourceLabel(source),
  }),
  column('signedInAt', {
    label: t('app.admin.signedIn'),
    kind: 'time',
    empty: t('app.admin.never'),
    isSortable: true,
  }),
  stateColumn<ListedPerson, ListedPerson['state']>({
    find: ({ state }) => state,
    kinds: stateKinds,
    describe: getStateLabel,
  }),
]

/** Lists all people of this installation. */
const PeopleList = definePagedSection({
  labels: { title: 'app.admin.people', search: 'app.admin.searchPeople', none: 'app.admin.nobody' },
  key: 'people',
  read: (filters, page, options) => api.users.search.query({ ...toPeopleCriteria(filters), ...page }, options),
  getRows: ({ users }) => users,
  useData: useRecords,
  rowKey: ({ id }) => id,
  columns,
  filters: () => (
    <>
      <ChoiceField name="role" label={t('app.field.role')} choices={listRoleChoices()} />
      <ChoiceField name="state" label={t('app.admin.state')} choices={listStateChoices()} />
      <ChoiceField name="source" label={t('app.admin.source')} choices={listSourceChoices()} />
      <SearchField name="group" label={t('app.admin.group')} />
    </>
  ),
  actions: () => (
    <>
      <InvitePerson />
      <AddPerson />
    </>
  ),
})

export const PeopleSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <PeopleList /> : <PersonPage id={id} />

/** The members of a new account; a password is typed once and is no text. */
const accountForm = defineForm('admin.addUser', ['username', 'name', 'email', 'role'])

/** Adds a person. With a password they get a local account. */
const AddPerson = () => (
  <FormButton
    label={t('app.admin.addPerson')}
    kind="primary"
    title={t('app.admin.addPerson')}
    action={t('app.admin.add')}
    form={accountForm}
    save={(account, _condition, form) => {
      const password = String(form.get('password') ?? '')
      return api.admin.addUser.mutate({ ...account, ...(password !== '' && { password }) })
    }}
  >
    <Field
      label={t('app.admin.password')}
      name="password"
      type="password"
      autoComplete="new-password"
      hint={t('app.admin.passwordHint')}
    />
  </FormButton>
)

/** Creates a local account, and shows once the link that sets its password. */
function InvitePerson() {
  const [invitation, setInvitation] = useState<{ link: string; expiresAt: string }>()
  return (
    <>
      <FormButton
        label={t('app.admin.invite')}
        title={t('app.admin.invite')}
        text={t('app.admin.inviteText')}
        action={t('app.admin.invite')}
        form={accountForm}
        save={async (account) => setInvitation(await api.accountInvitations.create.mutate(account))}
      >
        <OpenInvitations />
      </FormButton>
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
      <ul className={styles.invitations}>
        {data.map(({ userId, username, expiresAt }) => (
          <li key={userId}>
            {t('app.admin.openUntil', { name: username, time: formatDateTime(expiresAt) })}
            <ActionButton
              label={t('app.admin.endInvitation')}
              kind="plain"
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
