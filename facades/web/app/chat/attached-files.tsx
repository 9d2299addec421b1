import { t } from '../shared/text/labels.ts'
import { Icon } from '../shared/ui/icon.tsx'
import type { OpenedMessage } from './message-content.ts'

/** The files of a message. */
export const AttachedFiles = ({ files }: { files: OpenedMessage['attachments'] }) =>
  files.length > 0 && (
    <ul className="files" aria-label={t('app.files')}>
      {files.map(({ id, name, fileType, identifier }) => (
        <li key={id}>
          <a href={`/proxy/storage/${identifier}`} target="_blank" rel="noreferrer">
            {fileType === 'image' ? (
              <img src={`/proxy/storage/${identifier}`} alt="" loading="lazy" />
            ) : (
              <Icon name="attach" />
            )}
            <span>{name}</span>
          </a>
        </li>
      ))}
    </ul>
  )
