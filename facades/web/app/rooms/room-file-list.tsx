import { useQuery } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { FileButton, FileList } from '../shared/conversation/file-list.tsx'
import { t } from '../shared/text/labels.ts'
import { ErrorMessage } from '../shared/ui/error-message.tsx'
import { FormDialog } from '../shared/ui/form-dialog.tsx'
import { Icon } from '../shared/ui/icon.tsx'
import type { RoomFile } from './room.ts'
import { useRoomView } from './room-context.ts'
import styles from './room-file-list.module.css'
import { getMediaType, openRoomFile, PREVIEW_BYTES, saveRoomFile } from './room-files.ts'

/** The files of a message, decrypted in this browser. */
export const RoomFileList = ({ files }: { files: readonly RoomFile[] }) =>
  files.length > 0 && (
    <FileList>
      {files.map((file) => (
        <FileItem key={file.id} file={file} />
      ))}
    </FileList>
  )

function FileItem({ file }: { file: RoomFile }) {
  const keys = useRoomView((view) => view.keys)
  const [error, setError] = useState<unknown>()
  const [isShown, setShown] = useState(false)
  const isPicture = getMediaType(file).startsWith('image/')
  const canShow = isPicture || getMediaType(file) === 'application/pdf'
  const choose = () => (canShow ? setShown(true) : void saveRoomFile(file, keys).catch(setError))
  return (
    <li>
      <FileButton
        name={file.name}
        picture={isPicture && file.bytes <= PREVIEW_BYTES ? <Thumbnail file={file} /> : <Icon name="file" />}
        onClick={choose}
      />
      {error !== undefined && (
        <span className="error" role="alert">
          {t('app.rooms.fileClosed')}
        </span>
      )}
      {isShown && <Preview file={file} close={() => setShown(false)} />}
    </li>
  )
}

/** Returns an object URL of a decrypted file while it is shown. */
function useOpenedFile(file: RoomFile) {
  const keys = useRoomView((view) => view.keys)
  const { data, error } = useQuery({
    queryKey: ['room-file', file.id, keys.size],
    queryFn: () => openRoomFile(file, keys),
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 60_000,
    retry: false,
  })
  const [url, setUrl] = useState<string>()
  useEffect(() => {
    if (!data) return
    const objectUrl = URL.createObjectURL(data)
    setUrl(objectUrl)
    return () => URL.revokeObjectURL(objectUrl)
  }, [data])
  return { url, error }
}

function Thumbnail({ file }: { file: RoomFile }) {
  const { url, error } = useOpenedFile(file)
  if (error) return <Icon name="lock" />
  return url === undefined ? <span className={styles.wait} /> : <img src={url} alt="" />
}

function Preview({ file, close }: { file: RoomFile; close: () => void }) {
  const keys = useRoomView((view) => view.keys)
  const { url, error } = useOpenedFile(file)
  const isPicture = getMediaType(file).startsWith('image/')
  return (
    <FormDialog
      title={file.name}
      action={t('app.rooms.saveFile')}
      save={() => saveRoomFile(file, keys)}
      width="full"
      close={close}
    >
      <ErrorMessage error={error} />
      {url !== undefined &&
        (isPicture ? (
          <img className={styles.preview} src={url} alt={file.name} />
        ) : (
          <iframe className={styles.preview} src={url} title={file.name} />
        ))}
    </FormDialog>
  )
}
