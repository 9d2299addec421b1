import { useId } from 'react'
import { InputError } from './api/error-text.ts'
import { readBase64 } from './read-base64.ts'
import { useSession } from './session.tsx'
import { formatSize } from './text/file-size.ts'
import { t } from './text/labels.ts'
import { FileField } from './ui/file-field.tsx'

const NAME = 'picture'

const pictureTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']

/** The most bytes of a picture. */
export function useMaxPictureSize(): number {
  const { maxFileSize = 0 } = useSession().connection.configs['storage_avatars'] ?? {}
  return Number(maxFileSize)
}

/** Chooses a picture. */
export function PictureField() {
  const hint = useId()
  return (
    <div>
      <FileField
        name={NAME}
        accept={pictureTypes.join()}
        aria-describedby={hint}
        label={t('app.settings.avatarChoose')}
      />
      <p className="hint" id={hint}>
        {t('app.settings.avatarHint', { size: formatSize(useMaxPictureSize()) })}
      </p>
    </div>
  )
}

/** Reads the chosen picture as base64; undefined if none is chosen. Throws for more than so many bytes. */
export async function readPicture(form: HTMLFormElement, maxBytes: number): Promise<string | undefined> {
  const file = new FormData(form).get(NAME)
  if (!(file instanceof File) || file.name === '') return undefined
  if (file.size > maxBytes) throw new InputError(t('app.settings.avatarTooLarge'))
  return readBase64(file)
}
