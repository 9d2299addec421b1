import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Secret } from '../shared/ui/secret.tsx'
import { CellText } from '../shared/ui/table.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ActionButton } from './action-button.tsx'
import { useRecords } from './admin-queries.ts'
import { actionColumn, columnsOf, stateColumn } from './columns.tsx'
import type { Filters } from './filters.ts'
import type { PageInput } from './paged-rows.ts'
import { defineWholeForm, FormButton } from './record-form.tsx'
import { definePagedSection } from './section.tsx'

type Client = Awaited<ReturnType<typeof api.oauth.clients.query>>['clients'][number]

/** The most rows that the service returns at once. */
const MAX_ROWS = 200

async function readPage({ q }: Filters, { page, size }: PageInput, options?: { signal: AbortSignal }) {
  const offset = (page - 1) * size
  const input = { limit: size, offset, ...(q && { search: q }) }
  const { clients, total } = await api.oauth.clients.query(input, options)
  return { clients, hasMore: offset + clients.length < total }
}

async function readAll(filters: Filters): Promise<Client[]> {
  const all: Client[] = []
  for (let page = 1; ; page++) {
    const { clients, hasMore } = await readPage(filters, { page, size: MAX_ROWS })
    all.push(...clients)
    if (!hasMore) return all
  }
}

const column = columnsOf<Client>('oauth.registerClient')

const states = { usable: 'ok', blocked: 'wrong' } as const

/** Lists the programs that people have signed in, and those that are registered or blocked. */
export const ProgramsSection = definePagedSection({
  labels: {
    title: 'app.admin.programs',
    search: 'app.admin.searchPrograms',
    none: 'app.admin.noPrograms',
    empty: 'app.admin.programsEmpty',
    about: 'app.admin.programsAbout',
  },
  key: 'programs',
  read: readPage,
  readAll,
  getRows: ({ clients }) => clients,
  useData: useRecords,
  rowKey: ({ id }) => id,
  columns: () => [
    column('name', {
      label: t('app.admin.program'),
      cell: ({ name, host, clientId, kind }) => (
        <CellText note={host ?? (kind === 'registered' ? clientId : t('app.admin.programUnverified'))}>
          <strong>{name}</strong>
        </CellText>
      ),
    }),
    column('kind', { kind: 'choice', label: t('app.admin.kind') }),
    column('redirectUris'),
    column('people', { kind: 'number', label: t('app.admin.people') }),
    column('lastUsedAt', { kind: 'time', label: t('app.admin.lastUsed'), empty: t('app.admin.never') }),
    stateColumn<Client, keyof typeof states>({
      find: ({ blocked }) => (blocked ? 'blocked' : 'usable'),
      kinds: states,
      describe: (state) => t(`app.admin.program.${state}`),
    }),
    actionColumn<Client>((client) => <ProgramActions client={client} />),
  ],
  actions: () => <RegisterProgram />,
})

const ProgramActions = ({ client }: { client: Client }) => (
  <Toolbar>
    {client.kind === 'registered' && <RotateSecret client={client} />}
    <ToggleBlock client={client} />
  </Toolbar>
)

function ToggleBlock({ client: { id, name, blocked, people } }: { client: Client }) {
  const action = t(blocked ? 'app.admin.unblock' : 'app.admin.block')
  return (
    <ActionButton
      label={action}
      title={t(blocked ? 'app.admin.unblockOf' : 'app.admin.blockOf', { name })}
      text={blocked ? t('app.admin.unblockText') : t('app.admin.blockText', { count: people })}
      action={action}
      isDangerous={!blocked}
      act={() => api.oauth.block.mutate({ id, blocked: !blocked })}
    />
  )
}

function RotateSecret({ client: { id, name, hasSecret } }: { client: Client }) {
  const [secret, setSecret] = useState<string>()
  return (
    <>
      <ActionButton
        label={t('app.admin.newSecret')}
        title={t('app.admin.newSecretOf', { name })}
        text={t(hasSecret ? 'app.admin.newSecretText' : 'app.admin.firstSecretText')}
        action={t('app.admin.newSecret')}
        act={async () => setSecret((await api.oauth.rotateSecret.mutate({ id })).clientSecret)}
      />
      {secret !== undefined && (
        <CredentialDialog
          title={t('app.admin.newSecretMade', { name })}
          secret={secret}
          close={() => setSecret(undefined)}
        />
      )}
    </>
  )
}

const newProgram = defineWholeForm('oauth.registerClient', { first: ['name', 'redirectUris', 'hasSecret'] })

type Registered = Awaited<ReturnType<typeof api.oauth.registerClient.mutate>>

function RegisterProgram() {
  const [registered, setRegistered] = useState<Registered>()
  return (
    <>
      <FormButton
        label={t('app.admin.registerProgram')}
        kind="primary"
        title={t('app.admin.registerProgram')}
        text={t('app.admin.registerProgramText')}
        action={t('app.admin.registerProgram')}
        form={newProgram}
        save={async (program) => setRegistered(await api.oauth.registerClient.mutate(program))}
      />
      {registered && (
        <CredentialDialog
          title={t('app.admin.programRegistered')}
          id={registered.clientId}
          secret={registered.clientSecret}
          close={() => setRegistered(undefined)}
        />
      )}
    </>
  )
}

interface CredentialDialogProps {
  title: string
  id?: string
  /** Null for a program that has none. */
  secret: string | null
  close: () => void
}

/** Shows what the program must be given. A secret cannot be read again. */
const CredentialDialog = ({ title, id, secret, close }: CredentialDialogProps) => (
  <FormDialog title={title} isShownOnce={secret !== null} close={close}>
    {id !== undefined && (
      <>
        <p>{t('app.admin.programId')}</p>
        <Secret label={t('app.admin.programId')} text={id} copyText={t('app.admin.programIdCopy')} />
      </>
    )}
    {secret !== null && (
      <>
        <p>{t('app.admin.secretOnce')}</p>
        <Secret label={t('app.admin.secret')} text={secret} copyText={t('app.admin.secretCopy')} />
      </>
    )}
  </FormDialog>
)
