import { useId } from 'react'
import { toBase64 } from '../../browser/crypto/own.ts'
import { api } from '../shared/api/client.ts'
import { InputError } from '../shared/api/error-text.ts'
import { refreshSession, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { Avatar } from '../shared/ui/avatar.tsx'
import { Facts } from '../shared/ui/facts.tsx'
import { Field, FieldGroup, LabelledField } from '../shared/ui/field.tsx'
import { FileField } from '../shared/ui/file-field.tsx'
import { TextArea } from '../shared/ui/input.tsx'
import styles from './profile-settings.module.css'
import { SettingsSection } from './settings-section.tsx'

/** The public profile of the person, and their account data. */
export function ProfileSettings() {
  const { connection } = useSession()
  const { id = 0, name = '', username = '', email = '', avatar = null, bio = null } = connection.userinfo ?? {}
  const { maxFileSize: maxBytes = 0 } = connection.configs['storage_avatars'] ?? {}
  const save = async (form: HTMLFormElement) => {
    const picture = await readPicture(form, Number(maxBytes))
    const profile = { displayName: readField(form, 'name'), bio: readField(form, 'bio') || null }
    await api.users.update.mutate({ id: String(id), ...profile, ...(picture && { avatar: picture }) })
    await refreshSession()
    return t('app.settings.saved')
  }
  return (
    <SettingsSection title={t('app.settings.aboutTitle')}>
      <ActionForm label={t('app.settings.aboutTitle')} submitText={t('app.settings.save')} submit={save}>
        <div className={styles.portrait}>
          <Avatar name={name} picture={avatar} size="large" />
          <PictureField key={avatar} max={Number(maxBytes)} />
        </div>
        <Field
          label={t('app.settings.name')}
          name="name"
          defaultValue={name}
          autoComplete="name"
          maxLength={120}
          required
        />
        <LabelledField label={t('app.settings.bio')}>
          {(control) => (
            <TextArea {...control} name="bio" rows={3} maxLength={2000} defaultValue={bio ?? ''} dir="auto" />
          )}
        </LabelledField>
      </ActionForm>
      <Facts
        facts={[
          [t('app.settings.username'), username],
          [t('app.settings.email'), email],
        ]}
      />
      <p className="hint">{t('app.settings.fromSource')}</p>
    </SettingsSection>
  )
}

const pictureTypes = ['image/png', 'image/jpeg', 'image/webp', 'image/gif', 'image/avif']

const [KB, MB] = [1024, 1024 * 1024]
const formatSize = (bytes: number) => (bytes < MB ? `${Math.floor(bytes / KB)} KB` : `${Math.floor(bytes / MB)} MB`)

function PictureField({ max }: { max: number }) {
  const hint = useId()
  return (
    <FieldGroup label={t('app.settings.avatar')}>
      <FileField
        name="avatar"
        accept={pictureTypes.join()}
        aria-describedby={hint}
        label={t('app.settings.avatarChoose')}
      />
      <p className="hint" id={hint}>
        {t('app.settings.avatarHint', { size: formatSize(max) })}
      </p>
    </FieldGroup>
  )
}

/** Reads the chosen picture as base64. */
async function readPicture(form: HTMLFormElement, maxBytes: number): Promise<string | undefined> {
  const file = new FormData(form).get('avatar')
  if (!(file instanceof File) || file.name === '') return undefined
  if (file.size > maxBytes) throw new InputError(t('app.settings.avatarTooLarge'))
  return toBase64(new Uint8Array(await file.arrayBuffer()))
}
