import type { FormEvent } from 'react'
import { api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import type { StoredAssistant } from '../shared/assistants/content.ts'
import { refreshAssistants } from '../shared/models/assistants.ts'
import { PictureField, readPicture, useMaxPictureSize } from '../shared/picture-field.tsx'
import { t } from '../shared/text/labels.ts'
import { Outcome, useAction } from '../shared/ui/action-form.tsx'
import { Avatar } from '../shared/ui/avatar.tsx'
import { Button } from '../shared/ui/button.tsx'
import { Section } from '../shared/ui/section.tsx'
import { Toolbar } from '../shared/ui/toolbar.tsx'
import styles from './editor-page.module.css'

interface PictureSectionProps {
  stored: StoredAssistant
  /** The picture of the newest version. */
  avatar: string | null
  /** Is called with the version that has another picture. */
  follow: (version: number) => void
}

/** The picture of an assistant. Another one makes a version, which is published if the newest one was. */
export function PictureSection({ stored, avatar, follow }: PictureSectionProps) {
  const { handle, name, published, latest } = stored
  const maxBytes = useMaxPictureSize()
  const { isBusy, outcome, isWrong, run } = useAction()
  const write = async (picture: string | null) => {
    const change = { handle, avatar: picture, publish: published === latest, basedOn: latest }
    const { version, isPublished } = await api.assistants.setAvatar.mutate(change).catch(async (error: unknown) => {
      // If somebody else has saved meanwhile, the next try is made from their version.
      await refreshAssistants()
      throw error
    })
    follow(version)
    await refreshAssistants()
    return t(isPublished ? 'app.assistants.pictureAnswers' : 'app.assistants.pictureDraft', { version })
  }
  const save = async (form: HTMLFormElement) => {
    const picture = await readPicture(form, maxBytes)
    if (picture === undefined) throw new InputError(t('app.assistants.choosePicture'))
    return write(picture)
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const form = event.currentTarget
    void run(() => save(form))
  }
  return (
    <Section title={t('app.settings.avatar')} className={styles.section}>
      <form className={styles.picture} aria-label={t('app.settings.avatar')} onSubmit={submit}>
        <Avatar name={name} picture={avatar} size="large" />
        <div>
          <PictureField key={avatar} />
          <Toolbar>
            <Button type="submit" aria-disabled={isBusy}>
              {t('app.assistants.savePicture')}
            </Button>
            {avatar !== null && (
              <Button aria-disabled={isBusy} onClick={() => void run(() => write(null))}>
                {t('app.assistants.removePicture')}
              </Button>
            )}
          </Toolbar>
          <Outcome outcome={outcome} isWrong={isWrong} />
        </div>
      </form>
    </Section>
  )
}
