import { DAY_MS } from '../days.ts'
import { formatUtcDay } from '../text/formats.ts'
import { t } from '../text/labels.ts'
import { Button } from '../ui/button.tsx'
import { Notice } from '../ui/notice.tsx'
import type { ChatModel } from './models.ts'

/** Days before its end from which the chats of a model say so. */
const NOTICE_DAYS = 60

interface ModelEndNoticeProps {
  model: ChatModel | undefined
  models: readonly ChatModel[] | undefined
  choose: (modelId: string) => void
}

/** Says that a model ends soon or has ended, and offers the one that follows it. */
export function ModelEndNotice({ model, models, choose }: ModelEndNoticeProps) {
  if (!model?.deprecationDate) return null
  const end = new Date(model.deprecationDate)
  if (end.getTime() - Date.now() > NOTICE_DAYS * DAY_MS) return null
  const successor = models?.find(({ modelId }) => modelId === model.successor)
  const values = { model: model.label, day: formatUtcDay(model.deprecationDate), successor: successor?.label ?? '' }
  return (
    <Notice kind="warning" layout="row">
      <span>{t(getEndKey(end.getTime() <= Date.now(), successor !== undefined), values)}</span>
      {successor && <Button onClick={() => choose(successor.modelId)}>{t('app.model.useSuccessor', values)}</Button>}
    </Notice>
  )
}

function getEndKey(hasEnded: boolean, hasSuccessor: boolean): string {
  if (hasEnded) return hasSuccessor ? 'app.model.endedFollowed' : 'app.model.ended'
  return hasSuccessor ? 'app.model.endsFollowed' : 'app.model.ends'
}
