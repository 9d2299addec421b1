import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { ActionButton, SwitchButton, type VersionCondition } from '../action-button.tsx'
import { useRecords } from '../admin-queries.ts'
import { defineForm, defineWholeForm, FormButton } from '../record-form.tsx'
import type { ModelWithProvider, Provider } from './catalogue.ts'
import { findLine, useOrigin } from './config-file.tsx'

interface ModelProps {
  model: ModelWithProvider
}

type ModelChange = Omit<Parameters<typeof api.aiModels.update.mutate>[0], 'id' | 'ifVersion'>

/** Returns a function that updates a model. */
export const createUpdate =
  ({ id }: ModelWithProvider) =>
  (change: ModelChange, condition: VersionCondition) =>
    api.aiModels.update.mutate({ id, ...condition, ...change })

const newModel = defineForm('aiModels.create', ['provider', 'modelId', 'label', 'groups'])
export const accessForm = defineForm('aiModels.update', ['usageTypes', 'groups'])
export const parameterForm = defineForm('aiModels.update', ['limits', 'parameters', 'settings'])
const toolForm = defineForm('aiModels.update', ['tools'])
/** All attributes that have no dialog of their own. */
export const modelForm = defineWholeForm('aiModels.update', {
  first: ['label', 'modelId', 'upstreamId', 'modelType', 'position'],
  elsewhere: ['active', 'provider', 'pricing', 'usageTypes', 'groups', 'limits', 'parameters', 'settings', 'tools'],
})

export const AddModel = ({ providers }: { providers: readonly Provider[] }) => (
  <FormButton
    label={t('app.admin.addModel')}
    kind="primary"
    title={t('app.admin.addModel')}
    text={t('app.admin.addModelText')}
    action={t('app.admin.add')}
    form={newModel}
    choices={{ provider: providers.map(({ id, name }) => [id, name]) }}
    save={(model) => api.aiModels.create.mutate({ ...model, active: false })}
  />
)

/** Edits the attributes of a model that have no dialog of their own. */
export const EditModel = ({ model }: ModelProps) => (
  <FormButton
    label={t('app.admin.edit')}
    title={t('app.admin.editOf', { name: model.label })}
    record={model}
    form={modelForm}
    save={createUpdate(model)}
  />
)

/** Edits the surfaces and groups that may use a model. */
export const EditAccess = ({ model }: ModelProps) => (
  <FormButton
    label={t('app.admin.whoMay')}
    title={t('app.admin.whoMayOf', { name: model.label })}
    text={t('app.admin.whoMayText')}
    record={model}
    form={accessForm}
    save={createUpdate(model)}
  />
)

/** Edits the parameters and the token limits of a model. */
export const EditParameters = ({ model }: ModelProps) => (
  <FormButton
    label={t('app.admin.parameters')}
    title={t('app.admin.parametersOf', { name: model.label })}
    record={model}
    form={parameterForm}
    save={createUpdate(model)}
  />
)

const readTools = async (signal: AbortSignal) =>
  (await api.aiTools.list.query({ page: { size: 1000 } }, { signal })).items

/** Edits the tools that a model may call. */
export function EditTools({ model }: ModelProps) {
  const { data, error } = useRecords(['ai-tools'], readTools)
  const dialog = { label: t('app.admin.tools'), title: t('app.admin.toolsOf', { name: model.label }) }
  // Saving without the list would remove all tools.
  if (!data?.length)
    return (
      <ActionButton {...dialog} action={t('app.save')}>
        <ErrorMessage error={error} />
        {data && <p className="hint">{t('app.admin.noTools')}</p>}
      </ActionButton>
    )
  const record = { ...model, tools: model.toolIds.map(String) }
  return (
    <FormButton
      {...dialog}
      record={record}
      form={toolForm}
      choices={{ tools: data.map(({ id, name }) => [id, name]) }}
      save={createUpdate(model)}
    />
  )
}

/** Switches a model on or off. */
export const ToggleModelButton = ({ model }: ModelProps) =>
  findLine(useOrigin(), 'active') === undefined && (
    <SwitchButton
      name={model.label}
      isOn={model.active}
      texts={[t('app.admin.switchOnText'), t('app.admin.switchOffText')]}
      record={model}
      save={createUpdate(model)}
    />
  )
