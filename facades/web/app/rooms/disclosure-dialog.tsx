import { t, timeText } from '../shared/text/labels.ts'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import type { Disclosure } from './room.ts'
import { useRoom, useRoomView } from './room-context.ts'
import { askerOf } from './room-members.ts'

/** Says what a model was given for an answer. */
export function DisclosureDialog({ disclosure, close }: { disclosure: Disclosure; close: () => void }) {
  const { modelName } = useRoom()
  const members = useRoomView((view) => view.members)
  const byId = useRoomView((view) => view.byId)
  const { model, provider, parts, createdAt } = disclosure
  const texts = parts.filter(({ kind }) => kind === 'text')
  const files = parts.filter(({ kind }) => kind !== 'text')
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0)
  const quoted = parts.flatMap(({ message }) => (message === null ? [] : (byId.get(message) ?? [])))
  return (
    <FormDialog title={t('app.rooms.disclosed')} close={close}>
      <p>
        {t('app.rooms.disclosedText', {
          asker: askerOf(disclosure, members),
          model: modelName(model),
          provider,
          at: timeText(new Date(createdAt)),
        })}
      </p>
      <ul>
        <li>{t('app.rooms.disclosedMessages', { count: texts.length })}</li>
        {files.length > 0 && <li>{t('app.rooms.disclosedFiles', { count: files.length })}</li>}
        <li>{t('app.rooms.disclosedBytes', { count: bytes })}</li>
      </ul>
      {quoted.length > 0 && (
        <ul className="disclosed-messages">
          {[...new Set(quoted)].map(({ id, authorName, text, model: by }) => (
            <li key={id} dir="auto">
              <strong>{by === null ? authorName : modelName(by)}</strong> {text.slice(0, 120)}
            </li>
          ))}
        </ul>
      )}
    </FormDialog>
  )
}
