import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import { formatDateTime } from '../shared/text/formats.ts'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { ActionButton } from './action-button.tsx'
import { useRecords } from './admin-queries.ts'
import { CheckInput, readText, readWords, TextInput } from './form-fields.tsx'
import { useLocalRows } from './local-rows.ts'
import { StateBadge } from './parts.tsx'
import { type Column, RecordTable, SearchField } from './record-table.tsx'

type App = Awaited<ReturnType<typeof api.extApps.overview.query>>[number]

/** Shows a credential, which cannot be read again. */
type ShowCredential = (credential: string) => void

const buildColumns = (show: ShowCredential): Column<App>[] => [
  {
    key: 'name',
    label: t('app.admin.app'),
    cell: ({ name, url }) => (
      <span>
        <strong>{name}</strong>
        <span className="sub">{url}</span>
      </span>
    ),
    text: ({ name }) => name,
    isSortable: true,
  },
  {
    key: 'abilities',
    label: t('app.admin.abilities'),
    cell: ({ abilities }) => abilities.join(', '),
    text: ({ abilities }) => abilities.join(', '),
  },
  {
    key: 'links',
    label: t('app.admin.links'),
    cell: ({ links }) => links,
    text: ({ links }) => links,
    isSortable: true,
    isNumber: true,
  },
  {
    key: 'used',
    label: t('app.admin.lastUsed'),
    cell: ({ lastUsedAt }) => (lastUsedAt ? formatDateTime(lastUsedAt) : t('app.admin.never')),
    text: ({ lastUsedAt }) => lastUsedAt,
    isSortable: true,
  },
  {
    key: 'state',
    label: t('app.admin.state'),
    cell: ({ active, fromFile }) => (
      <span>
        <StateBadge kind={active ? 'ok' : 'idle'}>{t(active ? 'app.admin.on' : 'app.admin.modelOff')}</StateBadge>
        {fromFile && <span className="sub">{t('app.admin.fromAppFile')}</span>}
      </span>
    ),
    text: ({ active }) => String(active),
  },
  {
    key: 'actions',
    label: t('app.admin.actions'),
    cell: (app) => (app.fromFile ? null : <AppActions app={app} show={show} />),
  },
]

function AppActions({ app: { id, name, active, links }, show }: { app: App; show: ShowCredential }) {
  const input = { id: String(id) }
  return (
    <span className="button-row">
      <ActionButton
        label={t('app.admin.rotate')}
        title={t('app.admin.rotateOf', { name })}
        text={t('app.admin.rotateText')}
        action={t('app.admin.rotate')}
        act={async () => show((await api.extApps.rotateCredential.mutate(input)).meta.credential)}
      />
      <ActionButton
        label={t(active ? 'app.admin.switchOff' : 'app.admin.switchOn')}
        title={t(active ? 'app.admin.switchOffOf' : 'app.admin.switchOnOf', { name })}
        text={t(active ? 'app.admin.appOffText' : 'app.admin.appOnText')}
        action={t(active ? 'app.admin.switchOff' : 'app.admin.switchOn')}
        isDangerous={active}
        act={() => api.extApps.update.mutate({ ...input, active: !active })}
      />
      <ActionButton
        label={t('app.admin.remove')}
        title={t('app.admin.removeOf', { name })}
        text={t('app.admin.removeAppText', { count: links })}
        action={t('app.admin.remove')}
        isDangerous
        act={() => api.extApps.delete.mutate(input)}
      />
    </span>
  )
}

const AddApp = ({ show }: { show: ShowCredential }) => (
  <ActionButton
    label={t('app.admin.addApp')}
    className="button"
    title={t('app.admin.addApp')}
    action={t('app.admin.add')}
    act={async (form) => {
      const { credential = '', privateKey } = await api.extApps.create.mutate({
        name: readText(form, 'name'),
        url: readText(form, 'url'),
        redirectUrls: readWords(form, 'redirectUrls'),
        abilities: (['ai', 'user', 'read', 'write'] as const).filter((ability) =>
          form.getAll('ability').includes(ability),
        ),
        needsKeys: form.has('needsKeys'),
      })
      show([credential, privateKey].filter(Boolean).join('\n\n'))
    }}
  >
    <Field label={t('app.name')} name="name" required maxLength={60} />
    <Field label={t('app.admin.address')} name="url" type="url" required />
    <TextInput
      label={t('app.admin.redirects')}
      name="redirectUrls"
      value=""
      rows={2}
      hint={t('app.admin.redirectsHint')}
    />
    <fieldset className="checks">
      <legend>{t('app.admin.abilities')}</legend>
      {(['ai', 'user', 'read', 'write'] as const).map((ability) => (
        <CheckInput
          key={ability}
          label={t(`page.ability.${ability}`)}
          name="ability"
          value={ability}
          isChecked={ability === 'ai'}
        />
      ))}
    </fieldset>
    <CheckInput label={t('app.admin.needsKeys')} name="needsKeys" isChecked={false} />
  </ActionButton>
)

/** External apps that people can link to their account. */
export function AppsSection() {
  const [credential, setCredential] = useState('')
  const { data, error } = useRecords(['apps'], (signal) => api.extApps.overview.query(undefined, { signal }))
  const columns = buildColumns(setCredential)
  const rows = useLocalRows({ records: data, error, columns, texts: ({ name, url }) => [name, url] })
  return (
    <>
      {credential !== '' && (
        <section className="section admin-part" aria-label={t('app.admin.credential')}>
          <p>{t('app.admin.credentialOnce')}</p>
          <Secret label={t('app.admin.credential')} text={credential} copyText={t('app.admin.credentialCopy')} />
        </section>
      )}
      <RecordTable
        label={t('app.admin.apps')}
        columns={columns}
        rowKey={({ id }) => id}
        {...rows}
        none={t('app.admin.noApps')}
        filters={<SearchField name="q" label={t('app.admin.searchProviders')} />}
        actions={<AddApp show={setCredential} />}
      />
    </>
  )
}
