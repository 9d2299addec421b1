import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { ErrorMessage } from '../../shared/ui/error-message.tsx'
import { Field } from '../../shared/ui/field.tsx'
import { ActionButton, type VersionCondition } from '../action-button.tsx'
import { useRecords } from '../admin-queries.ts'
import {
  CheckInput,
  ChoiceInput,
  formatJson,
  readJson,
  readNumber,
  readText,
  readWords,
  TextInput,
} from '../form-fields.tsx'
import type { ModelWithProvider, Provider } from './catalogue.ts'
import { FileOwned, findLine, OwnedField, omitFileOwned, useOrigin } from './config-file.tsx'

interface ModelProps {
  model: ModelWithProvider
}

type ModelChange = Omit<Parameters<typeof api.aiModels.update.mutate>[0], 'id' | 'ifVersion'>

/** Returns a function that updates the attributes of a model that the file does not set. */
export function useUpdate(model: ModelWithProvider) {
  const origin = useOrigin()
  return (change: ModelChange, condition: VersionCondition) =>
    api.aiModels.update.mutate({ id: model.id, ...condition, ...omitFileOwned(origin, change) })
}

const surfaces = ['main', 'external'] as const
const readSurfaces = (form: FormData) => surfaces.filter((surface) => form.getAll('surface').includes(surface))

export const AddModel = ({ providers }: { providers: readonly Provider[] }) => (
  <ActionButton
    label={t('app.admin.addModel')}
    className="button"
    title={t('app.admin.addModel')}
    text={t('app.admin.addModelText')}
    action={t('app.admin.add')}
    act={(form) =>
      api.aiModels.create.mutate({
        label: readText(form, 'label'),
        modelId: readText(form, 'modelId'),
        provider: readText(form, 'provider'),
        groups: readWords(form, 'groups'),
        active: false,
      })
    }
  >
    <ChoiceInput
      label={t('app.admin.provider')}
      name="provider"
      value=""
      choices={providers.map(({ id, name }) => [id, name])}
    />
    <Field label={t('app.admin.modelId')} name="modelId" required maxLength={200} hint={t('app.admin.modelIdHint')} />
    <Field label={t('app.admin.label')} name="label" required maxLength={200} />
    <Field label={t('app.admin.groups')} name="groups" hint={t('app.admin.groupsHint')} autoComplete="off" />
  </ActionButton>
)

/** Edits the names, the position and the fallbacks of a model. */
export function EditModel({ model }: ModelProps) {
  const update = useUpdate(model)
  return (
    <ActionButton
      label={t('app.admin.edit')}
      title={t('app.admin.editOf', { name: model.label })}
      action={t('app.save')}
      record={model}
      act={(form, condition) =>
        update(
          {
            label: readText(form, 'label'),
            modelId: readText(form, 'modelId'),
            upstreamId: readText(form, 'upstreamId') || null,
            modelType: readText(form, 'modelType'),
            position: readNumber(form, 'position'),
            flags: readWords(form, 'flags'),
            fallback: readWords(form, 'fallback'),
            documentationUrl: readText(form, 'documentationUrl') || null,
          },
          condition,
        )
      }
    >
      <NameFields model={model} />
      <PositionFields model={model} />
    </ActionButton>
  )
}

const NameFields = ({ model }: ModelProps) => (
  <>
    <div className="field-pair">
      <OwnedField label={t('app.admin.label')} name="label" defaultValue={model.label} required maxLength={200} />
      <OwnedField label={t('app.admin.modelId')} name="modelId" defaultValue={model.modelId} required maxLength={200} />
    </div>
    <div className="field-pair">
      <OwnedField
        label={t('app.admin.upstreamId')}
        name="upstreamId"
        defaultValue={model.upstreamId ?? ''}
        maxLength={200}
      />
      <OwnedField label={t('app.admin.kind')} name="modelType" defaultValue={model.modelType} required maxLength={40} />
    </div>
  </>
)

const PositionFields = ({ model }: ModelProps) => (
  <>
    <OwnedField
      label={t('app.admin.position')}
      name="position"
      type="number"
      min={0}
      max={10_000}
      defaultValue={model.position ?? ''}
      hint={t('app.admin.positionHint')}
    />
    <OwnedField
      label={t('app.admin.flags')}
      name="flags"
      defaultValue={model.flags.join(', ')}
      hint={t('app.admin.wordsHint')}
    />
    <OwnedField
      label={t('app.admin.fallback')}
      name="fallback"
      defaultValue={(model.fallback ?? []).join(', ')}
      hint={t('app.admin.fallbackHint')}
    />
    <OwnedField
      label={t('app.admin.documentation')}
      name="documentationUrl"
      type="url"
      defaultValue={model.documentationUrl ?? ''}
    />
  </>
)

/** Edits the surfaces and groups that may use a model. */
export function EditAccess({ model }: ModelProps) {
  const update = useUpdate(model)
  return (
    <ActionButton
      label={t('app.admin.whoMay')}
      title={t('app.admin.whoMayOf', { name: model.label })}
      text={t('app.admin.whoMayText')}
      action={t('app.save')}
      record={model}
      act={(form, condition) =>
        update({ usageTypes: readSurfaces(form), groups: readWords(form, 'groups') }, condition)
      }
    >
      <FileOwned attribute="usageTypes">
        <fieldset className="checks">
          <legend>{t('app.admin.surfaces')}</legend>
          <CheckInput
            label={t('app.admin.surfaceMain')}
            name="surface"
            value="main"
            isChecked={model.usageTypes?.includes('main') ?? false}
          />
          <CheckInput
            label={t('app.admin.surfaceExternal')}
            name="surface"
            value="external"
            isChecked={model.usageTypes?.includes('external') ?? false}
          />
        </fieldset>
      </FileOwned>
      <OwnedField
        label={t('app.admin.groups')}
        name="groups"
        defaultValue={(model.groups ?? []).join(', ')}
        hint={t('app.admin.groupsHint')}
      />
    </ActionButton>
  )
}

/** Edits the parameters and the token limits of a model. */
export function EditParameters({ model }: ModelProps) {
  const update = useUpdate(model)
  return (
    <ActionButton
      label={t('app.admin.parameters')}
      title={t('app.admin.parametersOf', { name: model.label })}
      action={t('app.save')}
      record={model}
      act={(form, condition) =>
        update(
          {
            limits: { maxInputTokens: readNumber(form, 'maxInput'), maxOutputTokens: readNumber(form, 'maxOutput') },
            parameters: readJson(form, 'parameters') as never,
            settings: readJson(form, 'settings') as never,
          },
          condition,
        )
      }
    >
      <FileOwned attribute="limits">
        <div className="field-pair">
          <Field
            label={t('app.admin.maxInput')}
            name="maxInput"
            type="number"
            min={1}
            defaultValue={model.limits?.maxInputTokens ?? ''}
          />
          <Field
            label={t('app.admin.maxOutput')}
            name="maxOutput"
            type="number"
            min={1}
            defaultValue={model.limits?.maxOutputTokens ?? ''}
          />
        </div>
      </FileOwned>
      <FileOwned attribute="parameters">
        <TextInput
          label={t('app.admin.parametersJson')}
          name="parameters"
          value={formatJson(model.parameters)}
          hint={t('app.admin.parametersHint')}
        />
      </FileOwned>
      <FileOwned attribute="settings">
        <TextInput
          label={t('app.admin.settingsJson')}
          name="settings"
          value={formatJson(model.settings)}
          hint={t('app.admin.settingsHint')}
        />
      </FileOwned>
    </ActionButton>
  )
}

/** Edits the tools that a model may call. */
export function EditTools({ model }: ModelProps) {
  const update = useUpdate(model)
  const { data, error } = useRecords(['ai-tools'], async (signal) => {
    const { items } = await api.aiTools.list.query({ page: { size: 1000 } }, { signal })
    return items
  })
  return (
    <ActionButton
      label={t('app.admin.tools')}
      title={t('app.admin.toolsOf', { name: model.label })}
      action={t('app.save')}
      record={model}
      // Saving without the list would remove all tools.
      act={data && ((form, condition) => update({ tools: form.getAll('tool').map(String) }, condition))}
    >
      <ErrorMessage error={error} />
      {data?.length === 0 && <p className="hint">{t('app.admin.noTools')}</p>}
      {data && (
        <FileOwned attribute="tools">
          <fieldset className="checks">
            <legend>{t('app.admin.tools')}</legend>
            {data.map(({ id, name }) => (
              <CheckInput key={id} label={name} name="tool" value={id} isChecked={model.toolIds.includes(Number(id))} />
            ))}
          </fieldset>
        </FileOwned>
      )}
    </ActionButton>
  )
}

/** Switches a model on or off after a confirmation. */
export function ToggleModelButton({ model }: ModelProps) {
  const update = useUpdate(model)
  if (findLine(useOrigin(), 'active') !== undefined) return null
  return (
    <ActionButton
      label={t(model.active ? 'app.admin.switchOff' : 'app.admin.switchOn')}
      title={t(model.active ? 'app.admin.switchOffOf' : 'app.admin.switchOnOf', { name: model.label })}
      text={t(model.active ? 'app.admin.switchOffText' : 'app.admin.switchOnText')}
      action={t(model.active ? 'app.admin.switchOff' : 'app.admin.switchOn')}
      isDangerous={model.active}
      record={model}
      act={(_form, condition) => update({ active: !model.active }, condition)}
    />
  )
}
