import { useId } from 'react'
import { t } from '../shared/text/labels.ts'

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
  const id = useId()
  return (
    <>
      <div className="field">
        <label htmlFor={`${id}-name`}>{t('app.name')}</label>
        <input
          id={`${id}-name`}
          value={name}
          maxLength={120}
          // Requires more than blanks.
          pattern=".*\S.*"
          required
          dir="auto"
          autoComplete="off"
          aria-describedby={`${id}-hint`}
          onChange={({ target }) => change({ name: target.value })}
        />
        <p className="hint" id={`${id}-hint`}>
          {t('app.rooms.nameHint')}
        </p>
      </div>
      <div className="field">
        <label htmlFor={`${id}-description`}>{t('app.rooms.description')}</label>
        <textarea
          id={`${id}-description`}
          value={description ?? ''}
          placeholder={describeUnreadable(description)}
          maxLength={2000}
          rows={2}
          dir="auto"
          onChange={({ target }) => change({ description: target.value })}
        />
      </div>
      <div className="field">
        <label htmlFor={`${id}-prompt`}>{t('app.options.prompt')}</label>
        <textarea
          id={`${id}-prompt`}
          value={systemPrompt ?? ''}
          placeholder={describeUnreadable(systemPrompt)}
          maxLength={20_000}
          rows={2}
          dir="auto"
          onChange={({ target }) => change({ systemPrompt: target.value })}
        />
        <p className="hint">{t('app.rooms.textsHint')}</p>
      </div>
      <label className="field">
        <span className="label">{t('app.rooms.picture')}</span>
        <input type="file" accept="image/*" onChange={({ target }) => choosePicture(target.files?.[0])} />
        <span className="hint">{t('app.rooms.pictureHint')}</span>
      </label>
    </>
  )
}
