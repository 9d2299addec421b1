import { type Assistant, api } from '../shared/api/client.ts'
import { refreshAssistants } from '../shared/models/assistants.ts'
import { t } from '../shared/text/labels.ts'
import { DialogText } from '../shared/ui/dialog.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { explainHandle, HandleField, suggestCopyHandle } from './handle-field.tsx'

interface RemixDialogProps {
  assistant: Assistant
  close: () => void
  /** Shows the copy. */
  show: (handle: string) => void
}

/** Copies an assistant into a private one of the person. */
export function RemixDialog({ assistant: { handle, name, knowledge }, close, show }: RemixDialogProps) {
  const remix = async (form: FormData) => {
    const newHandle = String(form.get('handle') ?? '')
    await api.assistants.remix.mutate({ handle, newHandle }).catch(explainHandle(newHandle))
    await refreshAssistants()
    show(newHandle)
  }
  return (
    <FormDialog
      title={t('app.assistants.remixTitle', { name })}
      action={t('app.assistants.remix')}
      save={remix}
      close={close}
    >
      <DialogText>
        {t('app.assistants.remixText')} {knowledge && t('app.assistants.remixKnowledge')}
      </DialogText>
      <HandleField name="handle" defaultValue={suggestCopyHandle(handle)} />
    </FormDialog>
  )
}
