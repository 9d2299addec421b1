import { Link } from '@tanstack/react-router'
import { t } from '../../shared/text/labels.ts'
import { minuteText } from '../../shared/text/moments.ts'
import { ChoiceField, type Column, RecordTable, SearchField } from '../record-table.tsx'
import { State } from '../state.tsx'
import { AddPerson } from './add-person.tsx'
import { InvitePerson } from './invite-person.tsx'
import {
  type Listed,
  roleChoices,
  roleText,
  sourceChoices,
  sourceText,
  stateChoices,
  stateKinds,
  stateText,
  usePeople,
} from './people.ts'
import { PersonPage } from './person-page.tsx'

const columns = (): Column<Listed>[] => [
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
  { key: 'role', label: t('app.admin.role'), cell: ({ role }) => roleText(role), text: ({ role }) => role },
  {
    key: 'groups',
    label: t('app.admin.groups'),
    cell: ({ groups }) => groups.join(', '),
    text: ({ groups }) => groups.join(', '),
  },
  {
    key: 'source',
    label: t('app.admin.source'),
    cell: ({ source }) => sourceText(source),
    text: ({ source }) => sourceText(source),
  },
  {
    key: 'signedInAt',
    label: t('app.admin.signedIn'),
    cell: ({ signedInAt }) => (signedInAt ? minuteText(signedInAt) : t('app.admin.never')),
    text: ({ signedInAt }) => signedInAt,
    isSortable: true,
  },
  {
    key: 'state',
    label: t('app.admin.state'),
    cell: ({ state }) => <State kind={stateKinds[state]}>{stateText(state)}</State>,
    text: ({ state }) => state,
  },
]

export const PeopleSection = ({ id }: { id?: string | undefined }) =>
  id === undefined ? <PeopleList /> : <PersonPage id={id} />

/** All people of this installation. */
const PeopleList = () => (
  <RecordTable
    label={t('app.admin.people')}
    columns={columns()}
    rowKey={({ id }) => id}
    {...usePeople()}
    none={t('app.admin.nobody')}
    filters={
      <>
        <SearchField name="q" label={t('app.admin.searchPeople')} />
        <ChoiceField name="role" label={t('app.admin.role')} choices={roleChoices()} />
        <ChoiceField name="state" label={t('app.admin.state')} choices={stateChoices()} />
        <ChoiceField name="source" label={t('app.admin.source')} choices={sourceChoices()} />
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
