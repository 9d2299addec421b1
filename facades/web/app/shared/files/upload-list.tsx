import { t } from '../text/labels.ts'
import { IconButton } from '../ui/icon-button.tsx'
import { type Upload, useReadState } from './uploads.ts'

/** The files that go along with the next question, with how far they have come. */
export const UploadList = ({ uploads, remove }: { uploads: readonly Upload[]; remove: (key: number) => void }) =>
  uploads.length > 0 && (
    <ul className="uploads" aria-label={t('app.files')}>
      {uploads.map((upload) => (
        <Row key={upload.key} upload={upload} remove={() => remove(upload.key)} />
      ))}
    </ul>
  )

function Row({ upload, remove }: { upload: Upload; remove: () => void }) {
  const { id, name, progress, refusal } = upload
  const readState = useReadState(id)
  const isSending = id === undefined && refusal === undefined
  return (
    <li className={refusal && 'refused'}>
      <span className="file-name">{name}</span>
      {isSending && <progress value={progress} aria-label={t('app.files.sending', { name })} />}
      <span className="hint">
        {refusal ?? (isSending ? '' : t(readState === 'pending' ? 'app.files.reading' : 'app.files.ready'))}
      </span>
      <IconButton icon="close" label={t('app.files.remove', { name })} onClick={remove} />
    </li>
  )
}
