import { type FormEvent, type ReactNode, useState } from 'react'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { t } from '../shared/text/labels.ts'
import { Button, type ButtonKind } from '../shared/ui/button.tsx'
import { Choice } from '../shared/ui/choice.tsx'
import { LabelledField } from '../shared/ui/field.tsx'
import { Select, TextArea } from '../shared/ui/input.tsx'
import styles from './form-fields.module.css'

interface ChoiceInputProps {
  label: string
  name: string
  value: string
  choices: readonly (readonly [value: string, text: string])[]
  hint?: string | undefined
}

/** A labelled select element. */
export const ChoiceInput = ({ label, name, value, choices, hint }: ChoiceInputProps) => (
  <LabelledField label={label} hint={hint}>
    {(control) => (
      <Select {...control} name={name} defaultValue={value}>
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </Select>
    )}
  </LabelledField>
)

interface CheckInputProps {
  label: string
  name: string
  value?: string
  isChecked: boolean
}

export const CheckInput = ({ label, name, value = 'yes', isChecked }: CheckInputProps) => (
  <Choice label={label} name={name} value={value} defaultChecked={isChecked} />
)

interface TextInputProps {
  label: string
  name: string
  value: string
  hint?: string
  rows?: number
}

/** A labelled field for several lines of text. */
export const TextInput = ({ label, name, value, hint, rows = 4 }: TextInputProps) => (
  <LabelledField label={label} hint={hint}>
    {(control) => (
      <TextArea {...control} className={styles.area} name={name} defaultValue={value} rows={rows} dir="auto" />
    )}
  </LabelledField>
)

interface TextWithPreviewProps {
  label: string
  name: string
  value: string
  hint?: string
}

/** A field for Markdown, with a preview. */
export function TextWithPreview({ label, name, value, hint }: TextWithPreviewProps) {
  const [text, setText] = useState(value)
  return (
    <div
      className={styles.previewed}
      onChange={(event) => setText((event.target as unknown as HTMLTextAreaElement).value)}
    >
      <TextInput label={label} name={name} value={value} rows={6} {...(hint && { hint })} />
      {text.trim() !== '' && <Preview label={`${t('app.admin.preview')}: ${label}`} text={text} />}
    </div>
  )
}

interface PreviewProps {
  label?: string
  lang?: string
  text: string
}

/** Shows a text as it appears to people. */
export const Preview = ({ label, lang, text }: PreviewProps) => (
  <section className={styles.preview} aria-label={label} lang={lang}>
    <Markdown text={text} />
  </section>
)

interface InlineFormProps {
  /** The label of the button. */
  action: string
  kind?: ButtonKind
  isWorking?: boolean
  submit: (form: FormData) => unknown
  children: ReactNode
}

/** A form with one field and its button beside it. */
export function InlineForm({ action, kind, isWorking = false, submit, children }: InlineFormProps) {
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (!isWorking) void submit(new FormData(event.currentTarget))
  }
  return (
    <form className={styles.inline} onSubmit={send}>
      {children}
      <Button type="submit" kind={kind} aria-disabled={isWorking}>
        {isWorking ? t('page.working') : action}
      </Button>
    </form>
  )
}
