import type { FieldsProps } from '../shared/assistants/content.ts'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { ExplainedChoice } from '../shared/ui/choice.tsx'
import { Field, LabelledField } from '../shared/ui/field.tsx'
import { Select } from '../shared/ui/input.tsx'
import styles from './editor-page.module.css'
import { RowsField } from './rows-field.tsx'

const MAX_FALLBACKS = 5

/** The models that answer, and the parameters that no question changes. */
export function ModelFields({ form, change, models }: FieldsProps) {
  const { model, fallback } = form
  const isOff = model !== '' && !models.some(({ modelId }) => modelId === model)
  return (
    <>
      <LabelledField
        label={t('app.model')}
        hint={isOff ? <span className="error">{t('app.assistants.modelOff', { model })}</span> : undefined}
      >
        {(control) => (
          <Select
            {...control}
            name="model"
            required
            value={model}
            onChange={({ target }) => change({ model: target.value })}
          >
            <ModelOptions models={models} chosen={model} />
          </Select>
        )}
      </LabelledField>
      <RowsField
        label={t('app.assistants.fallback')}
        hint={t('app.assistants.fallbackHint')}
        rows={fallback}
        change={(rows) => change({ fallback: rows })}
        most={MAX_FALLBACKS}
        addLabel={t('app.assistants.addFallback')}
        nameRow={(position) => t('app.assistants.fallbackNumber', { position })}
      >
        {(control) => (
          <Select {...control}>
            {control.value === '' && <option value="">{t('app.assistants.chooseModel')}</option>}
            <ModelOptions models={models} chosen={control.value} />
          </Select>
        )}
      </RowsField>
      <ExplainedChoice
        name="allowModelSelect"
        checked={form.allowModelSelect}
        onChange={({ target }) => change({ allowModelSelect: target.checked })}
        label={t('app.assistants.allowModelSelect')}
        hint={t('app.assistants.allowModelSelectHint')}
      />
      <Parameters form={form} change={change} models={models} />
    </>
  )
}

/** The models, and the chosen one also if it is off. */
const ModelOptions = ({ models, chosen }: { models: readonly ChatModel[]; chosen: string }) => (
  <>
    {chosen !== '' && !models.some(({ modelId }) => modelId === chosen) && (
      <option value={chosen}>{t('app.assistants.offModel', { model: chosen })}</option>
    )}
    {models.map(({ modelId, label, providerName }) => (
      <option key={modelId} value={modelId}>
        {label} · {providerName}
      </option>
    ))}
  </>
)

const Parameters = ({ form, change }: FieldsProps) => (
  <div className={styles.numbers}>
    {parameterFields.map(({ name, label, ...bounds }) => (
      <Field
        key={name}
        label={t(label)}
        name={name}
        type="number"
        {...bounds}
        placeholder={t('app.options.usual')}
        value={form[name]}
        onChange={({ target }) => change({ [name]: target.value })}
      />
    ))}
  </div>
)

const parameterFields = [
  { name: 'temperature', label: 'app.options.temperature', min: 0, max: 2, step: 'any' },
  { name: 'topP', label: 'app.assistants.topP', min: 0, max: 1, step: 'any' },
  { name: 'maxTokens', label: 'app.options.length', min: 1, max: 10_000_000 },
] as const
