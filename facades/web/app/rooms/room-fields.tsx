import { useId } from 'react'
import { t } from '../shared/text/labels.ts'
import { Field, FieldGroup, LabelledField } from '../shared/ui/field.tsx'
import { FileField } from '../shared/ui/file-field.tsx'
import { TextArea } from '../shared/ui/input.tsx'

interface RoomTextFields {
  name: string
  /** Undefined if the text cannot be decrypted. */
  description: string | undefined
  systemPrompt: string | undefined
}

interface RoomFieldsProps {
  texts: RoomTextFields
  change: (changed: Partial<Record<keyof RoomTextFields, string>>) => void
  choosePicture: (picture: File | undefined) => void
}

const describeUnreadable = (text: string | undefined) => (text === undefined ? t('app.rooms.textClosed') : undefined)

/** Fields for the name of a room, and for the texts that only its members can decrypt. */
export function RoomFields({ texts: { name, description, systemPrompt }, change, choosePicture }: RoomFieldsProps) {
  const pictureHint = useId()
  return (
    <>
      <Field
        label={t('app.name')}
        hint={t('app.rooms.nameHint')}
        value={name}
        maxLength={120}
        // Requires more than blanks.
        pattern=".*\S.*"
        required
        dir="auto"
        autoComplete="off"
        onChange={({ target }) => change({ name: target.value })}
      />
      <LabelledField label={t('app.rooms.description')}>
        {(control) => (
          <TextArea
            {...control}
            value={description ?? ''}
            placeholder={describeUnreadable(description)}
            maxLength={2000}
            rows={2}
            dir="auto"
            onChange={({ target }) => change({ description: target.value })}
          />
        )}
      </LabelledField>
      <LabelledField label={t('app.options.prompt')} hint={t('app.rooms.textsHint')}>
        {(control) => (
          <TextArea
            {...control}
            value={systemPrompt ?? ''}
            placeholder={describeUnreadable(systemPrompt)}
            maxLength={20_000}
            rows={2}
            dir="auto"
            onChange={({ target }) => change({ systemPrompt: target.value })}
          />
        )}
      </LabelledField>
      <FieldGroup label={t('app.rooms.picture')}>
        <FileField
          accept="image/*"
          aria-describedby={pictureHint}
          label={t('app.settings.avatarChoose')}
          onChange={({ target }) => choosePicture(target.files?.[0])}
        />
        <p className="hint" id={pictureHint}>
          {t('app.rooms.pictureHint')}
        </p>
      </FieldGroup>
    </>
  )
}
