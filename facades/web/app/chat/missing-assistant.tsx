import { useLocation } from '@tanstack/react-router'
import { type AnswerModel, readHandle, useAssistants } from '../shared/models/assistants.ts'
import { PickerButton } from '../shared/models/model-button.tsx'
import type { ChatModel } from '../shared/models/models.ts'
import { t } from '../shared/text/labels.ts'
import { getButtonClass } from '../shared/ui/button.tsx'
import { Notice } from '../shared/ui/notice.tsx'

interface MissingAssistantNoticeProps {
  /** The name by which the assistant was asked. */
  modelId: string
  models: readonly ChatModel[] | undefined
  choose: (modelId: string) => void
  /** Has a model answer for the assistant in this chat. */
  chooseBase: (model: AnswerModel) => void
}

/** Says why the assistant of a chat cannot answer, and offers to choose another one. */
export function MissingAssistantNotice({ modelId, models, choose, chooseBase }: MissingAssistantNoticeProps) {
  const { data: assistants } = useAssistants()
  const isBegun = useLocation({ select: ({ pathname }) => pathname !== '/chat' })
  const handle = readHandle(modelId)
  const found = assistants?.find((each) => each.handle === handle)
  const canChooseBase = found?.allowModelSelect === true
  const text = canChooseBase ? 'app.assistants.offChoose' : 'app.assistants.off'
  return (
    <Notice kind="warning" layout="row" role="status">
      <span>
        {found ? t(text, { name: found.name }) : t('app.assistants.gone', { handle })}
        {isBegun && ` ${t('app.assistants.answersStay')}`}
      </span>
      {canChooseBase && (
        <PickerButton
          models={models?.filter(({ assistant }) => !assistant)}
          model={undefined}
          choose={(base) => chooseBase({ handle, modelId: base })}
          label={t('app.assistants.chooseBase')}
          className={getButtonClass()}
        >
          {t('app.assistants.chooseBase')}
        </PickerButton>
      )}
      <PickerButton
        models={models}
        model={undefined}
        choose={choose}
        label={t('app.assistants.chooseAnother')}
        className={getButtonClass()}
      >
        {t('app.assistants.chooseAnother')}
      </PickerButton>
    </Notice>
  )
}
