import { useState } from 'react'
import { api } from '../../shared/api/client.ts'
import { t } from '../../shared/text/labels.ts'
import { Field } from '../../shared/ui/field.tsx'
import { ActionButton, readText, readWords } from '../action-dialog.tsx'
import { CheckInput, ChoiceInput, TextInput } from '../choice-input.tsx'
import { jsonText, readJson, readNumber } from '../json-input.ts'
import { type OwnedModel, type Provider, versionOf } from './catalogue.ts'
import { firstRange, isFree, perMillion, rates, readPricing } from './prices.ts'

interface ModelProps {
  model: OwnedModel
}

const surfaces = ['main', 'external'] as const
const chosenSurfaces = (form: FormData) => surfaces.filter((surface) => form.getAll('surface').includes(surface))

export const AddModel = ({ providers }: { providers: readonly Provider[] }) => (
  <ActionButton
    label={t('app.admin.addModel')}
    className="button"
    title={t('app.admin.addModel')}
    action={t('app.admin.add')}
    act={(form) =>
      api.aiModels.create.mutate({
        label: readText(form, 'label'),
        modelId: readText(form, 'modelId'),
        provider: readText(form, 'provider'),
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
  </ActionButton>
)

/** Sets its names, its groups and its fallback. */
export const EditModel = ({ model }: ModelProps) => (
  <ActionButton
    label={t('app.admin.edit')}
    title={t('app.admin.editOf', { name: model.label })}
    action={t('app.save')}
    act={(form) =>
      api.aiModels.update.mutate({
        id: model.id,
        ...versionOf(model),
        label: readText(form, 'label'),
        modelId: readText(form, 'modelId'),
        upstreamId: readText(form, 'upstreamId') || null,
        modelType: readText(form, 'modelType'),
        flags: readWords(form, 'flags'),
        fallback: readWords(form, 'fallback'),
        documentationUrl: readText(form, 'documentationUrl') || null,
      })
    }
  >
    <div className="field-pair">
      <Field label={t('app.admin.label')} name="label" defaultValue={model.label} required maxLength={200} />
      <Field label={t('app.admin.modelId')} name="modelId" defaultValue={model.modelId} required maxLength={200} />
    </div>
    <div className="field-pair">
      <Field
        label={t('app.admin.upstreamId')}
        name="upstreamId"
        defaultValue={model.upstreamId ?? ''}
        maxLength={200}
      />
      <Field label={t('app.admin.kind')} name="modelType" defaultValue={model.modelType} required maxLength={40} />
    </div>
    <Field
      label={t('app.admin.flags')}
      name="flags"
      defaultValue={model.flags.join(', ')}
      hint={t('app.admin.wordsHint')}
    />
    <Field
      label={t('app.admin.fallback')}
      name="fallback"
      defaultValue={(model.fallback ?? []).join(', ')}
      hint={t('app.admin.fallbackHint')}
    />
    <Field
      label={t('app.admin.documentation')}
      name="documentationUrl"
      type="url"
      defaultValue={model.documentationUrl ?? ''}
    />
  </ActionButton>
)

/** On which surfaces, and by which groups, a model may be used. */
export const EditAccess = ({ model }: ModelProps) => (
  <ActionButton
    label={t('app.admin.whoMay')}
    title={t('app.admin.whoMayOf', { name: model.label })}
    text={t('app.admin.whoMayText')}
    action={t('app.save')}
    act={(form) =>
      api.aiModels.update.mutate({
        id: model.id,
        ...versionOf(model),
        usageTypes: chosenSurfaces(form),
        groups: readWords(form, 'groups'),
      })
    }
  >
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
    <Field
      label={t('app.admin.groups')}
      name="groups"
      defaultValue={(model.groups ?? []).join(', ')}
      hint={t('app.admin.groupsHint')}
    />
  </ActionButton>
)

/** Prices of the first range; further ones, by the length of the input, stay as they are. */
export function EditPrices({ model }: ModelProps) {
  const range = firstRange(model)
  const kind = isFree(model) ? 'free' : range ? 'priced' : 'unknown'
  return (
    <ActionButton
      label={t('app.admin.prices')}
      title={t('app.admin.pricesOf', { name: model.label })}
      text={t('app.admin.pricesText')}
      action={t('app.save')}
      act={(form) =>
        api.aiModels.update.mutate({ id: model.id, ...versionOf(model), pricing: readPricing(form, model) })
      }
    >
      <PriceFields kind={kind} range={range} />
    </ActionButton>
  )
}

function PriceFields({ kind, range }: { kind: string; range: ReturnType<typeof firstRange> }) {
  const [chosen, setChosen] = useState(kind)
  const kinds = [
    ['priced', t('app.admin.pricePerMillion')],
    ['free', t('app.model.free')],
    ['unknown', t('app.admin.priceUnknown')],
  ] as const
  return (
    <>
      <fieldset className="checks" onChange={(event) => setChosen((event.target as unknown as HTMLInputElement).value)}>
        <legend>{t('app.admin.price')}</legend>
        {kinds.map(([value, text]) => (
          <label key={value} className="check">
            <input type="radio" name="kind" value={value} defaultChecked={value === kind} /> {text}
          </label>
        ))}
      </fieldset>
      {chosen === 'priced' && (
        <div className="field-pair">
          <Field
            label={t('app.admin.currency')}
            name="currency"
            defaultValue={range?.currency ?? 'EUR'}
            required
            pattern="[A-Za-z]{3}"
            maxLength={3}
          />
          {rates.map(([name, label]) => (
            <Field
              key={name}
              label={t(label)}
              name={name}
              type="number"
              step="any"
              min={0}
              defaultValue={perMillion(range?.[name])}
            />
          ))}
        </div>
      )}
    </>
  )
}

/** Sets the parameters of each request, and how much the model takes and gives. */
export const EditParameters = ({ model }: ModelProps) => (
  <ActionButton
    label={t('app.admin.parameters')}
    title={t('app.admin.parametersOf', { name: model.label })}
    action={t('app.save')}
    act={(form) =>
      api.aiModels.update.mutate({
        id: model.id,
        ...versionOf(model),
        limits: { maxInputTokens: readNumber(form, 'maxInput'), maxOutputTokens: readNumber(form, 'maxOutput') },
        parameters: readJson(form, 'parameters') as never,
        settings: readJson(form, 'settings') as never,
      })
    }
  >
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
    <TextInput
      label={t('app.admin.parametersJson')}
      name="parameters"
      value={jsonText(model.parameters)}
      hint={t('app.admin.parametersHint')}
    />
    <TextInput
      label={t('app.admin.settingsJson')}
      name="settings"
      value={jsonText(model.settings)}
      hint={t('app.admin.settingsHint')}
    />
  </ActionButton>
)

/** Switches a model on or off, after saying for whom. */
export const ToggleModel = ({ model }: ModelProps) => (
  <ActionButton
    label={t(model.active ? 'app.admin.switchOff' : 'app.admin.switchOn')}
    title={t(model.active ? 'app.admin.switchOffOf' : 'app.admin.switchOnOf', { name: model.label })}
    text={t(model.active ? 'app.admin.switchOffText' : 'app.admin.switchOnText')}
    action={t(model.active ? 'app.admin.switchOff' : 'app.admin.switchOn')}
    isDangerous={model.active}
    act={() => api.aiModels.update.mutate({ id: model.id, ...versionOf(model), active: !model.active })}
  />
)
