import { type ChangeEvent, useId, useState } from 'react'
import { toBase64 } from '../../browser/crypto.ts'
import { api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { refreshSession, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { Field } from '../shared/ui/field.tsx'
import { readField, SettingsForm, SettingsSection } from './settings-form.tsx'

/** The public profile of the person, and their account data. */
export function ProfileSettings() {
  const { connection } = useSession()
  const { id = 0, name = '', username = '', email = '', avatar = null, bio = null } = connection.userinfo ?? {}
  const { maxFileSize: maxBytes = 0 } = connection.configs['storage_avatars'] ?? {}
  const bioId = useId()
  const save = async (form: HTMLFormElement) => {
    const picture = await readPicture(form, Number(maxBytes))
    const profile = { displayName: readField(form, 'name'), bio: readField(form, 'bio') || null }
    await api.users.update.mutate({ id: String(id), ...profile, ...(picture && { avatar: picture }) })
    await refreshSession()
    return t('app.settings.saved')
  }
  return (
    <SettingsSection title={t('app.settings.aboutTitle')}>
      {avatar && (
        <img
          className="portrait"
          alt=""
          width="96"
          height="96"
          src={`/req/profile/picture/${id}?${encodeURIComponent(avatar)}`}
        />
      )}
      <SettingsForm label={t('app.settings.aboutTitle')} submitText={t('app.settings.save')} submit={save}>
        <Field
          label={t('app.settings.name')}
          name="name"
          defaultValue={name}
          autoComplete="name"
          maxLength={120}
          required
        />
        <div className="field">
          <label htmlFor={bioId}>{t('app.settings.bio')}</label>
          <textarea id={bioId} name="bio" rows={3} maxLength={2000} defaultValue={bio ?? ''} dir="auto" />
        </div>
        <PictureField key={avatar} max={Number(maxBytes)} />
      </SettingsForm>
      <dl className="facts">
        <dt>{t('app.settings.username')}</dt>
        <dd>{username}</dd>
        <dt>{t('app.settings.email')}</dt>
        <dd>{email}</dd>
      </dl>
      <p className="hint">{t('app.settings.fromSource')}</p>
    </SettingsSection>
  )
}

const pictureTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']

const [KB, MB] = [1024, 1024 * 1024]
const formatSize = (bytes: number) => (bytes < MB ? `${Math.floor(bytes / KB)} KB` : `${Math.floor(bytes / MB)} MB`)

/** A label stands in for the file field, whose own text is in the language of the browser. */
function PictureField({ max }: { max: number }) {
  const [name, setName] = useState('')
  const id = useId()
  const choose = ({ target }: ChangeEvent<HTMLInputElement>) => setName(target.files?.[0]?.name ?? '')
  return (
    <div className="field">
      <span className="label">{t('app.settings.avatar')}</span>
      <div className="picture-field">
        <input
          id={id}
          name="avatar"
          type="file"
          accept={pictureTypes.join()}
          aria-describedby={`${id}-hint`}
          onChange={choose}
        />
        <label htmlFor={id} className="quiet-button">
          {t('app.settings.avatarChoose')}
        </label>
        <span>{name}</span>
      </div>
      <p className="hint" id={`${id}-hint`}>
        {t('app.settings.avatarHint', { size: formatSize(max) })}
      </p>
    </div>
  )
}

/** Reads the chosen picture as base64. */
async function readPicture(form: HTMLFormElement, maxBytes: number): Promise<string | undefined> {
  const file = new FormData(form).get('avatar')
  if (!(file instanceof File) || file.name === '') return undefined
  if (file.size > maxBytes) throw new InputError(t('app.settings.avatarTooLarge'))
  return toBase64(new Uint8Array(await file.arrayBuffer()))
}
