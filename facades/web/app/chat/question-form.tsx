import { useState } from 'react'
import { t } from '../shared/text/labels.ts'
import { EditForm } from '../shared/ui/edit-form.tsx'
import { KeptFileList } from '../shared/upload-list.tsx'
import { useChatActions } from './chat-state.ts'
import type { OpenedMessage } from './message-content.ts'

/** Edits a question, which keeps the files that are not removed. The earlier one stays as another version. */
export function QuestionForm({ message, close }: { message: OpenedMessage; close: () => void }) {
  const { resend } = useChatActions()
  const [files, setFiles] = useState(message.attachments)
  return (
    <EditForm
      label={t('app.message.edit')}
      text={message.answer.text}
      action={t('app.message.resend')}
      save={(text) => resend(message, text, files)}
      close={close}
      canBeEmpty={files.length > 0}
    >
      <KeptFileList files={files} remove={(id) => setFiles((all) => all.filter((each) => each.id !== id))} />
    </EditForm>
  )
}
