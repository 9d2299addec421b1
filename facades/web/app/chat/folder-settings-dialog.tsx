import { type FolderSettings, saveFolderSettings, useChatSettings } from '../shared/chat-settings.ts'
import { useAskable } from '../shared/models/assistants.ts'
import { useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorNotice } from '../shared/ui/error-message.tsx'
import { LabelledField } from '../shared/ui/field.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Select, TextArea } from '../shared/ui/input.tsx'

const noSettings: FolderSettings = { instructions: '', modelId: null }

/** Edits the instructions and the model of the chats in a folder. */
export function FolderSettingsDialog({ name, close }: { name: string; close: () => void }) {
  const { conversationKey: key } = useSession()
  const settings = useChatSettings(key)
  const models = useAskable()
  const error = settings.error ?? models.error
  const isReady = settings.data !== undefined && models.data !== undefined
  const { instructions, modelId } = settings.data?.folders[name] ?? noSettings
  const save = (form: FormData) =>
    saveFolderSettings(key, name, {
      instructions: String(form.get('instructions') ?? '').trim(),
      modelId: String(form.get('model') ?? '') || null,
    })
  return (
    <FormDialog title={t('app.folder.settingsOf', { name })} close={close} {...(isReady && { save })}>
      <ErrorNotice error={error} />
      {isReady && (
        <>
          <LabelledField label={t('app.folder.instructions')} hint={t('app.folder.instructionsHint')}>
            {(control) => (
              <TextArea
                {...control}
                name="instructions"
                rows={5}
                maxLength={4000}
                dir="auto"
                defaultValue={instructions}
              />
            )}
          </LabelledField>
          <LabelledField label={t('app.folder.model')}>
            {(control) => (
              <Select {...control} name="model" defaultValue={modelId ?? ''}>
                <option value="">{t('app.folder.modelNone')}</option>
                {models.data?.map((model) => (
                  <option key={model.modelId} value={model.modelId}>
                    {model.label}
                  </option>
                ))}
              </Select>
            )}
          </LabelledField>
        </>
      )}
    </FormDialog>
  )
}
