import { useState } from 'react'
import { api } from '../shared/api/client.ts'
import { FreshSessionDialog } from '../shared/fresh-session.tsx'
import { t } from '../shared/text/labels.ts'
import { Button } from '../shared/ui/button.tsx'
import { FormDialog, KEEP_OPEN } from '../shared/ui/form-dialog.tsx'
import { CellText } from '../shared/ui/table.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import { ActionButton } from './action-button.tsx'
import { runMutation, useRecords } from './admin-queries.ts'
import { actionColumn, columnsOf, stateColumn } from './columns.tsx'
import { Preformatted, SideBySide, StateBadge } from './parts.tsx'
import { defineForm, FormButton, FormFields } from './record-form.tsx'
import { ChoiceField } from './record-table.tsx'
import { defineSection } from './section.tsx'
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

const offerLabels = {
  prompt: 'app.admin.offerPrompt',
  resource: 'app.admin.offerResource',
  template: 'app.admin.offerTemplate',
} as const

const ToolName = ({ tool: { name, kind, mcpName, definition } }: { tool: Tool }) => (
  <CellText
    note={[...(kind === 'tool' ? [] : [`${t(offerLabels[kind])} ${mcpName}`]), definition.description]
      .join(' · ')
      .slice(0, 200)}
  >
    <strong>{name}</strong>
  </CellText>
)

const ToolActions = ({ tool }: { tool: Tool }) => (
  <Toolbar>
    <Approve tool={tool} />
    {tool.kind === 'tool' ? (
      <>
        <TryTool tool={tool} />
        <EditToolAccess tool={tool} />
      </>
    ) : (
      <EditOfferAccess tool={tool} />
    )}
  </Toolbar>
)

const toolAccess = defineForm('aiTools.update', ['groups'])

/** Edits who may call a tool. */
const EditToolAccess = ({ tool }: { tool: Tool }) => (
  <FormButton
    label={t('app.admin.whoMay')}
    title={t('app.admin.whoMayOf', { name: tool.name })}
    text={t('app.admin.whoMayCallText')}
    record={tool}
    form={toolAccess}
    save={(change) => api.aiTools.update.mutate({ id: String(tool.id), ...change })}
  />
)

const offerAccess = defineForm('mcp.setAccess', ['groups', 'active'])

/** Edits who may use a prompt or a resource, and switches it off and on. */
const EditOfferAccess = ({ tool }: { tool: Tool }) => (
  <FormButton
    label={t('app.admin.whoMay')}
    title={t('app.admin.whoMayOf', { name: tool.name })}
    text={t('app.admin.offerAccessText')}
    record={tool}
    form={offerAccess}
    save={(change) => api.mcp.setAccess.mutate({ name: tool.name, ...change })}
  />
)

/** Compares the approved definition with the current one. The shown version is the one that gets approved. */
function Approve({ tool }: { tool: Tool }) {
  const { name, kind, mcpName, hash, approved, definition, isApproved, hasNewMembers } = tool
  if (isApproved && !hasNewMembers) return null
  return (
    <ActionButton
      label={t('app.admin.approve')}
      title={t('app.admin.approveOf', { name })}
      text={t(kind === 'tool' ? 'app.admin.approveText' : 'app.admin.approveOfferText')}
      width="full"
      action={t('app.admin.approve')}
      act={() => api.mcp.approve.mutate({ name, hash })}
    >
      <p>{t('app.admin.knownAs', { name: mcpName })}</p>
      <SideBySide>
        <Definition title={t('app.admin.approvedNow')} definition={approved} other={definition} />
        <Definition title={t('app.admin.offeredNow')} definition={definition} other={approved} />
      </SideBySide>
    </ActionButton>
  )
}

const trialForm = defineForm('mcp.tryTool', ['input'])

/** Calls a tool as a model would, and shows the result. */
function TryTool({ tool: { name, hash, definition } }: { tool: Tool }) {
  const [isOpen, setOpen] = useState(false)
  const [trial, setTrial] = useState<{ isFailed: boolean; result: string }>()
  const run = async (form: FormData) => {
    const trial = trialForm.read(form)
    setTrial(await runMutation(() => api.mcp.tryTool.mutate({ name, hash, ...trial })))
    return KEEP_OPEN
  }
  return (
    <>
      <Button onClick={() => setOpen(true)}>{t('app.admin.tryTool')}</Button>
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
          <FormFields form={trialForm} record={{ input: buildExampleInput(definition.inputSchema) }} />
          <div role="status">
            {trial && (
              <>
                <StateBadge kind={trial.isFailed ? 'wrong' : 'ok'}>
                  {t(trial.isFailed ? 'app.admin.toolFailed' : 'app.admin.toolAnswered')}
                </StateBadge>
                <Preformatted>{trial.result}</Preformatted>
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
function buildExampleInput(schema: unknown): object {
  const { properties = {} } = (schema ?? {}) as { properties?: Record<string, { type?: unknown; default?: unknown }> }
  const members = Object.entries(properties).map(([name, { type, default: defaultValue }]) => [
    name,
    defaultValue ?? emptyValues[String(type)] ?? null,
  ])
  return Object.fromEntries(members)
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
        <Preformatted>
          {toLines(definition).map((line, index) => {
            const text = `${line}\n`
            // biome-ignore lint/suspicious/noArrayIndexKey: lines have no identity but their position.
            return otherLines.has(line) ? text : <mark key={index}>{text}</mark>
          })}
        </Preformatted>
      ) : (
        <p className="hint">{t('app.admin.nothingYet')}</p>
      )}
    </section>
  )
}

function toLines(definition: Tool['approved']): string[] {
  if (!definition) return []
  const { title, description, capability, mimeType, annotations, inputSchema, outputSchema } = definition
  return [
    ...(title ? [title] : []),
    ...description.split('\n'),
    ...(capability ? [capability] : []),
    ...(mimeType ? [mimeType] : []),
    ...[annotations, inputSchema, outputSchema].flatMap((each) =>
      each ? JSON.stringify(each, null, 2).split('\n') : [],
    ),
  ]
}

function useToolsAndServers() {
  const { data: servers = [] } = useServers()
  const { data, error } = useTools()
  return { data: data && { tools: data, servers }, error }
}

const listGroups = ({ groups }: Tool) => groups.join(', ') || t('app.admin.everybody')

const column = columnsOf<Tool>('mcp.approve')

/** The MCP servers, and the tools that models may call. */
export const ToolsSection = defineSection({
  labels: {
    title: 'app.admin.tools',
    search: 'app.admin.searchTools',
    none: 'app.admin.noTools',
    empty: 'app.admin.toolsEmpty',
  },
  useData: useToolsAndServers,
  getRows: ({ tools }) => tools,
  rowKey: ({ name }) => name,
  texts: ({ name, definition }) => [name, definition.description],
  columns: [
    column('name', {
      label: t('app.admin.tool'),
      cell: (tool) => <ToolName tool={tool} />,
      isSortable: true,
    }),
    column('server', { label: t('app.admin.server'), isSortable: true }),
    column('groups', { cell: listGroups, text: listGroups }),
    stateColumn<Tool, ToolState>(
      { find: getToolState, kinds: stateKinds, describe: (state) => t(stateLabels[state]) },
      { isSortable: true },
    ),
    actionColumn((tool: Tool) => <ToolActions tool={tool} />),
  ],
  matchesFilters: (tool, { server, state }) =>
    (!server || tool.server === server) && (!state || getToolState(tool) === state),
  filters: (data) => (
    <>
      <ChoiceField
        name="server"
        label={t('app.admin.server')}
        choices={(data?.servers ?? []).map(({ label }) => [label, label])}
      />
      <ChoiceField
        name="state"
        label={t('app.admin.state')}
        choices={Object.entries(stateLabels).map(([state, label]) => [state, t(label)])}
      />
    </>
  ),
  above: () => <ToolServersPart />,
})
