import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { Secret } from '../shared/ui/secret.tsx'
import { CellText } from '../shared/ui/table.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ActionButton, RemoveButton, SwitchButton } from './action-button.tsx'
import { useRecords } from './admin-queries.ts'
import { actionColumn, columnsOf } from './columns.tsx'
import { OnOffBadge, Part } from './parts.tsx'
import { defineWholeForm, FormButton } from './record-form.tsx'
import { defineSection } from './section.tsx'

type App = Awaited<ReturnType<typeof api.extApps.overview.query>>[number]

/** Shows a credential, which cannot be read again. */
type ShowCredential = (credential: string) => void

function AppActions({ app: { id, name, active, links }, show }: { app: App; show: ShowCredential }) {
  const input = { id: String(id) }
  return (
    <Toolbar>
      <ActionButton
        label={t('app.admin.rotate')}
        title={t('app.admin.rotateOf', { name })}
        text={t('app.admin.rotateText')}
        action={t('app.admin.rotate')}
        act={async () => show((await api.extApps.rotateCredential.mutate(input)).meta.credential)}
      />
      <SwitchButton
        name={name}
        isOn={active}
        texts={[t('app.admin.appOnText'), t('app.admin.appOffText')]}
        save={(change) => api.extApps.update.mutate({ ...input, ...change })}
      />
      <RemoveButton
        title={t('app.admin.removeOf', { name })}
        text={t('app.admin.removeAppText', { count: links })}
        act={() => api.extApps.delete.mutate(input)}
      />
    </Toolbar>
  )
}

const newApp = defineWholeForm('extApps.create', {
  first: ['name', 'url', 'redirectUrls', 'abilities', 'needsKeys'],
  elsewhere: ['active'],
})

const AddApp = ({ show }: { show: ShowCredential }) => (
  <FormButton
    label={t('app.admin.addApp')}
    kind="primary"
    title={t('app.admin.addApp')}
    action={t('app.admin.add')}
    form={newApp}
    save={async (app) => {
      const { credential = '', privateKey } = await api.extApps.create.mutate(app)
      show([credential, privateKey].filter(Boolean).join('\n\n'))
    }}
  />
)

const column = columnsOf<App>('extApps.create')

function useApps() {
  const [credential, show] = useState('')
  const { data, error } = useRecords(['apps'], (signal) => api.extApps.overview.query(undefined, { signal }))
  return { data: data && { apps: data, credential, show }, error }
}

/** External apps that people can link to their account. */
export const AppsSection = defineSection({
  labels: {
    title: 'app.admin.apps',
    search: 'app.admin.searchProviders',
    none: 'app.admin.noApps',
    empty: 'app.admin.appsEmpty',
  },
  useData: useApps,
  getRows: ({ apps }) => apps,
  rowKey: ({ id }) => id,
  texts: ({ name, url }) => [name, url],
  columns: (data) => [
    column('name', {
      label: t('app.admin.app'),
      cell: ({ name, url }) => (
        <CellText note={url}>
          <strong>{name}</strong>
        </CellText>
      ),
      isSortable: true,
    }),
    column('abilities'),
    column('links', { label: t('app.admin.links'), kind: 'number', isSortable: true }),
    column('lastUsedAt', {
      label: t('app.admin.lastUsed'),
      kind: 'time',
      empty: t('app.admin.never'),
      isSortable: true,
    }),
    column('active', {
      label: t('app.admin.state'),
      cell: ({ active, fromFile }) => (
        <CellText note={fromFile && t('app.admin.fromAppFile')}>
          <OnOffBadge isOn={active} />
        </CellText>
      ),
    }),
    actionColumn((app) => data && !app.fromFile && <AppActions app={app} show={data.show} />),
  ],
  actions: (data) => data && <AddApp show={data.show} />,
  above: (data) => data?.credential && <Credential text={data.credential} />,
})

/** A credential, which is shown once. */
const Credential = ({ text }: { text: string }) => (
  <Part title={t('app.admin.credential')}>
    <p>{t('app.admin.credentialOnce')}</p>
    <Secret label={t('app.admin.credential')} text={text} copyText={t('app.admin.credentialCopy')} />
  </Part>
)
