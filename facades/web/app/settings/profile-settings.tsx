import { api } from '../shared/api/client.ts'
import { PictureField, readPicture, useMaxPictureSize } from '../shared/picture-field.tsx'
import { refreshSession, useSession } from '../shared/session.tsx'
import { t } from '../shared/text/labels.ts'
import { ActionForm, readField } from '../shared/ui/action-form.tsx'
import { Avatar } from '../shared/ui/avatar.tsx'
import { Facts } from '../shared/ui/facts.tsx'
import { Field, FieldGroup, LabelledField } from '../shared/ui/field.tsx'
import { TextArea } from '../shared/ui/input.tsx'
import styles from './profile-settings.module.css'
import { SettingsSection } from './settings-section.tsx'

/** The public profile of the person, and their account data. */
export function ProfileSettings() {
  const { connection } = useSession()
  const { id = 0, name = '', username = '', email = '', avatar = null, bio = null } = connection.userinfo ?? {}
  const maxBytes = useMaxPictureSize()
  const save = async (form: HTMLFormElement) => {
    const picture = await readPicture(form, maxBytes)
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
          <FieldGroup label={t('app.settings.avatar')}>
            <PictureField key={avatar} />
          </FieldGroup>
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
