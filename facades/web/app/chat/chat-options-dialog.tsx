import { type AnswerModel, buildAssistantId, findAnsweringModel, findChosenBase } from '../shared/models/assistants.ts'
import { type ChatModel, useModels } from '../shared/models/models.ts'
import { listThinkingSteps, thinkingEfforts } from '../shared/models/thinking-steps.ts'
import { t } from '../shared/text/labels.ts'
import { Choice } from '../shared/ui/choice.tsx'
import { Facts } from '../shared/ui/facts.tsx'
import { Field, LabelledField } from '../shared/ui/field.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Select, TextArea } from '../shared/ui/input.tsx'
import type { ChatOptions } from './chat-options.ts'

export interface ChatOptionsProps {
  /** Undefined if they can't be decrypted. */
  instructions: string | undefined
  options: ChatOptions
  model: ChatModel | undefined
  save: (instructions: string, options: ChatOptions) => Promise<void>
}

/** Edits the instructions and the parameters of a chat. */
export function ChatOptionsDialog(props: ChatOptionsProps & { close: () => void }) {
  const { instructions = '', options, model, save, close } = props
  const fixed = model?.assistant?.parameters ?? {}
  const read = (form: FormData) => ({
    ...readOptionsForm(form, options, fixed),
    answerModel: readAnswerModel(form, model?.assistant?.handle) ?? options.answerModel,
  })
  return (
    <FormDialog
      title={t('app.options')}
      save={(form) => save(String(form.get('prompt') ?? '').trim(), read(form))}
      close={close}
    >
      {model?.assistant && <AssistantSettings assistant={model.assistant} chosen={options.answerModel} />}
      <LabelledField
        label={t('app.options.prompt')}
        hint={model?.assistant && t('app.assistants.instructionsFollow', { name: model.assistant.name })}
      >
        {(control) => (
          <TextArea {...control} name="prompt" rows={4} maxLength={50_000} dir="auto" defaultValue={instructions} />
        )}
      </LabelledField>
      <ParameterFields
        options={options}
        fixed={fixed}
        thinkingSteps={listThinkingSteps(model)}
        maxTokens={model?.limits?.maxOutputTokens}
      />
    </FormDialog>
  )
}

interface ParameterFieldsProps {
  options: ChatOptions
  /** The parameters that the assistant sets, which nobody changes in a chat. */
  fixed: { temperature?: number | undefined; maxTokens?: number | undefined }
  thinkingSteps: ReturnType<typeof listThinkingSteps>
  /** The longest answer of the model, if it is known. */
  maxTokens: number | null | undefined
}

const ParameterFields = ({
  options: { parameters, areToolsOff },
  fixed,
  thinkingSteps,
  maxTokens,
}: ParameterFieldsProps) => (
  <>
    <Field
      label={t('app.options.length')}
      name="length"
      type="number"
      min={1}
      max={fixed.maxTokens ?? maxTokens ?? undefined}
      placeholder={t('app.options.usual')}
      defaultValue={parameters.maxTokens}
      hint={fixed.maxTokens === undefined ? undefined : t('app.assistants.fixesLength', { value: fixed.maxTokens })}
    />
    <Field
      label={t('app.options.temperature')}
      name="temperature"
      type="number"
      min={0}
      max={2}
      step={0.1}
      placeholder={t('app.options.usual')}
      defaultValue={fixed.temperature ?? parameters.temperature}
      readOnly={fixed.temperature !== undefined}
      hint={fixed.temperature === undefined ? undefined : t('app.assistants.isFixed')}
    />
    {thinkingSteps.length > 0 && (
      <LabelledField label={t('app.options.effort')}>
        {(control) => (
          <Select {...control} name="effort" defaultValue={parameters.effort ?? ''}>
            <option value="">{t('app.options.usual')}</option>
            {thinkingSteps.map((step) => (
              <option key={step} value={thinkingEfforts[step]}>
                {t(stepLabels[step])}
              </option>
            ))}
          </Select>
        )}
      </LabelledField>
    )}
    <Choice name="tools" defaultChecked={!areToolsOff} label={t('app.options.tools')} />
  </>
)

const stepLabels = {
  off: 'app.options.effortOff',
  low: 'app.options.effortLow',
  medium: 'app.options.effortMedium',
  high: 'app.options.effortHigh',
} as const

interface AssistantSettingsProps {
  assistant: NonNullable<ChatModel['assistant']>
  chosen: AnswerModel | undefined
}

/** Names the assistant and the model that it fixes, or has the person choose another one. */
function AssistantSettings({ assistant, chosen }: AssistantSettingsProps) {
  const { handle, name, base, allowModelSelect } = assistant
  const { data: models = [] } = useModels()
  const own = findAnsweringModel(assistant, models)
  if (!allowModelSelect)
    return (
      <Facts
        facts={[
          [t('app.assistants.one'), name],
          [t('app.model'), `${base.label} · ${t('app.assistants.isFixed')}`],
        ]}
      />
    )
  return (
    <LabelledField label={t('app.model')} hint={t('app.assistants.answerModelHint', { name })}>
      {(control) => (
        <Select
          {...control}
          name="answerModel"
          defaultValue={findChosenBase(buildAssistantId(handle), chosen)?.modelId ?? ''}
        >
          <option value="">
            {own
              ? t('app.assistants.ownModel', { model: own.label })
              : t('app.assistants.offModel', { model: assistant.model })}
          </option>
          {models.map(({ modelId, label }) => (
            <option key={modelId} value={modelId}>
              {label}
            </option>
          ))}
        </Select>
      )}
    </LabelledField>
  )
}

/** Returns the chosen model, which is empty for that of the assistant; undefined if there is nothing to choose. */
function readAnswerModel(form: FormData, handle: string | undefined): AnswerModel | undefined {
  const modelId = form.get('answerModel')
  return handle === undefined || modelId === null ? undefined : { handle, modelId: String(modelId) }
}

/** Reads the form. Empty fields leave the parameter to the model; one that is not shown, or not to be changed, stays. */
function readOptionsForm(
  form: FormData,
  { parameters: before }: ChatOptions,
  fixed: ParameterFieldsProps['fixed'],
): ChatOptions {
  const [written, maxTokens] = [form.get('temperature'), form.get('length')].map((value) => String(value ?? ''))
  const temperature = fixed.temperature === undefined ? written : String(before.temperature ?? '')
  const effort = form.has('effort')
    ? Object.values(thinkingEfforts).find((effort) => effort === form.get('effort'))
    : before.effort
  return {
    parameters: {
      ...(temperature && { temperature: Number(temperature) }),
      ...(maxTokens && { maxTokens: Number(maxTokens) }),
      ...(effort && { effort }),
    },
    areToolsOff: form.get('tools') === null,
  }
}
