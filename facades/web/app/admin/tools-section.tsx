import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import { t } from '../shared/text/labels.ts'
import { FormDialog, KEEP_OPEN } from '../shared/ui/form-dialog.tsx'
import { ActionButton } from './action-button.tsx'
import { runMutation, useRecords } from './admin-queries.ts'
import { readJson, TextInput } from './form-fields.tsx'
import { FreshSessionDialog } from './fresh-session.tsx'
import { useLocalRows } from './local-rows.ts'
import { StateBadge } from './parts.tsx'
import { ChoiceField, type Column, RecordTable, SearchField } from './record-table.tsx'
import { ToolServersPart, useServers } from './tool-servers.tsx'

type Tool = Awaited<ReturnType<typeof api.mcp.tools.query>>[number]

const useTools = () => useRecords(['tools'], (signal) => api.mcp.tools.query(undefined, { signal }))

type ToolState = 'approved' | 'changed' | 'new' | 'off'

function getToolState({ isApproved, approved, active }: Tool): ToolState {
  if (!isApproved) return approved ? 'changed' : 'new'
  return active ? 'approved' : 'off'
}

const stateLabels = {
  approved: 'app.admin.toolApproved',
  changed: 'app.admin.toolChanged',
  new: 'app.admin.toolNew',
  off: 'app.admin.modelOff',
} as const
const stateKinds = { approved: 'ok', changed: 'warn', new: 'warn', off: 'idle' } as const

const buildColumns = (): Column<Tool>[] => [
  {
    key: 'name',
    label: t('app.admin.tool'),
    cell: ({ name, definition }) => <ToolName name={name} about={definition.description} />,
    text: ({ name }) => name,
    isSortable: true,
  },
  {
    key: 'server',
    label: t('app.admin.server'),
    cell: ({ server }) => server,
    text: ({ server }) => server,
    isSortable: true,
  },
  {
    key: 'state',
    label: t('app.admin.state'),
    cell: (tool) => <StateBadge kind={stateKinds[getToolState(tool)]}>{t(stateLabels[getToolState(tool)])}</StateBadge>,
    text: getToolState,
    isSortable: true,
  },
  { key: 'actions', label: t('app.admin.actions'), cell: (tool) => <ToolActions tool={tool} /> },
]

const ToolName = ({ name, about }: { name: string; about: string }) => (
  <span>
    <strong>{name}</strong>
    <span className="sub">{about.slice(0, 200)}</span>
  </span>
)

const ToolActions = ({ tool }: { tool: Tool }) => (
  <span className="button-row">
    <Approve tool={tool} />
    <TryTool tool={tool} />
  </span>
)

/** Compares the approved definition with the current one. The shown version is the one that gets approved. */
function Approve({ tool }: { tool: Tool }) {
  const { name, hash, approved, definition, isApproved } = tool
  if (isApproved) return null
  return (
    <ActionButton
      label={t('app.admin.approve')}
      title={t('app.admin.approveOf', { name })}
      text={t('app.admin.approveText')}
      action={t('app.admin.approve')}
      act={() => api.mcp.approve.mutate({ name, hash })}
    >
      <div className="compare">
        <Definition title={t('app.admin.approvedNow')} definition={approved} other={definition} />
        <Definition title={t('app.admin.offeredNow')} definition={definition} other={approved} />
      </div>
    </ActionButton>
  )
}

/** Calls a tool as a model would, and shows the result. */
function TryTool({ tool: { name, hash, definition } }: { tool: Tool }) {
  const [isOpen, setOpen] = useState(false)
  const [trial, setTrial] = useState<{ isFailed: boolean; result: string }>()
  const run = async (form: FormData) => {
    const input = (readJson(form, 'input') ?? {}) as never
    setTrial(await runMutation(() => api.mcp.tryTool.mutate({ name, hash, input })))
    return KEEP_OPEN
  }
  return (
    <>
      <button type="button" className="quiet-button" onClick={() => setOpen(true)}>
        {t('app.admin.tryTool')}
      </button>
      {isOpen && (
        <FormDialog
          title={t('app.admin.tryToolOf', { name })}
          action={t('app.admin.tryTool')}
          save={run}
          close={() => {
            setOpen(false)
            setTrial(undefined)
          }}
        >
          <p>{t('app.admin.tryToolText')}</p>
          <TextInput
            label={t('app.admin.toolInput')}
            name="input"
            value={buildExampleInput(definition.inputSchema)}
            rows={6}
          />
          <div role="status">
            {trial && (
              <>
                <StateBadge kind={trial.isFailed ? 'wrong' : 'ok'}>
                  {t(trial.isFailed ? 'app.admin.toolFailed' : 'app.admin.toolAnswered')}
                </StateBadge>
                <pre className="trial">{trial.result}</pre>
              </>
            )}
          </div>
          <FreshSessionDialog />
        </FormDialog>
      )}
    </>
  )
}

/** Builds an example input from a JSON Schema. */
function buildExampleInput(schema: unknown): string {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: unknown; default?: unknown }> }
  const members = Object.entries(properties).map(([name, { type, default: defaultValue }]) => [
    name,
    defaultValue ?? emptyValues[String(type)] ?? null,
  ])
  return JSON.stringify(Object.fromEntries(members), null, 2)
}

const emptyValues: Record<string, unknown> = {
  string: '',
  number: 0,
  integer: 0,
  boolean: false,
  array: [],
  object: {},
}

interface DefinitionProps {
  title: string
  definition: Tool['approved']
  other: Tool['approved']
}

/** Shows a definition line by line, and marks lines that the other one lacks. */
function Definition({ title, definition, other }: DefinitionProps) {
  const otherLines = new Set(toLines(other))
  return (
    <section aria-label={title}>
      <h3>{title}</h3>
      {definition ? (
        <pre>
          {toLines(definition).map((line, index) => {
            const text = `${line}\n`
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their position.
            return otherLines.has(line) ? text : <mark key={index}>{text}</mark>
          })}
        </pre>
      ) : (
        <p className="hint">{t('app.admin.nothingYet')}</p>
      )}
    </section>
  )
}

function toLines(definition: Tool['approved']): string[] {
  if (!definition) return []
  const { description, capability, inputSchema } = definition
  return [
    ...description.split('\n'),
    ...(capability ? [capability] : []),
    ...JSON.stringify(inputSchema, null, 2).split('\n'),
  ]
}

/** The MCP servers, and the tools that models may call. */
export function ToolsSection() {
  const { data: servers = [] } = useServers()
  const { data, error } = useTools()
  const rows = useLocalRows({
    records: data,
    error,
    columns: buildColumns(),
    texts: ({ name, definition }) => [name, definition.description],
    matchesFilters: (tool, { server, state }) =>
      (!server || tool.server === server) && (!state || getToolState(tool) === state),
  })
  return (
    <>
      <ToolServersPart />
      <RecordTable
        label={t('app.admin.tools')}
        columns={buildColumns()}
        rowKey={({ name }) => name}
        {...rows}
        none={t('app.admin.noTools')}
        filters={
          <>
            <SearchField name="q" label={t('app.admin.searchTools')} />
            <ChoiceField
              name="server"
              label={t('app.admin.server')}
              choices={servers.map(({ label }) => [label, label])}
            />
            <ChoiceField
              name="state"
              label={t('app.admin.state')}
              choices={Object.entries(stateLabels).map(([state, label]) => [state, t(label)])}
            />
          </>
        }
      />
    </>
  )
}
