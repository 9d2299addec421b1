import { changeChatSettings, useChatSettings } from '../shared/chat-settings.ts'
import { useModels } from '../shared/models/models.ts'
import { useSession } from '../shared/session.tsx'
import { hasTitles } from '../shared/site.ts'
import { t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { ExplainedChoice } from '../shared/ui/choice.tsx'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { LabelledField } from '../shared/ui/field.tsx'
import { Select, TextArea } from '../shared/ui/input.tsx'
import { SettingsSection } from './settings-section.tsx'

/** Settings for all chats with models, which only the person's browsers can decrypt. */
export const ChatSettings = () => (
  <SettingsSection title={t('app.settings.chatsTitle')}>
    {useSession().isLocked ? null : <ChatSettingsForm />}
  </SettingsSection>
)

function ChatSettingsForm() {
  const { conversationKey: key } = useSession()
  const settings = useChatSettings(key)
  const models = useModels()
  const save = async (form: HTMLFormElement) => {
    const instructions = readField(form, 'instructions').trim()
    const modelId = readField(form, 'model') || null
    const titles = hasTitles && { hasNoTitles: readField(form, 'titles') === '' }
    await changeChatSettings(key, (current) => ({ ...current, instructions, modelId, ...titles }))
    return t('app.settings.saved')
  }
  if (settings.isError || models.isError) return <ErrorNotice error={settings.error ?? models.error} />
  if (!settings.data || !models.data) return <p aria-busy="true">{t('page.working')}</p>
  const { instructions, modelId, hasNoTitles } = settings.data
  return (
    <ActionForm label={t('app.settings.chatsTitle')} submitText={t('app.settings.save')} submit={save}>
      <LabelledField label={t('app.settings.chatInstructions')} hint={t('app.settings.chatInstructionsHint')}>
        {(control) => (
          <TextArea {...control} name="instructions" rows={5} maxLength={8000} dir="auto" defaultValue={instructions} />
        )}
      </LabelledField>
      <LabelledField label={t('app.settings.chatModel')}>
        {(control) => (
          <Select {...control} name="model" defaultValue={modelId ?? ''}>
            <option value="">{t('app.settings.chatModelLast')}</option>
            {models.data.map((model) => (
              <option key={model.modelId} value={model.modelId}>
                {model.label}
              </option>
            ))}
          </Select>
        )}
      </LabelledField>
      {hasTitles && (
        <ExplainedChoice
          name="titles"
          defaultChecked={!hasNoTitles}
          label={t('app.settings.chatTitles')}
          hint={t('app.settings.chatTitlesHint')}
        />
      )}
    </ActionForm>
  )
}
