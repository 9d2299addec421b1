import { type FormEvent, type ReactNode, useId, useState } from 'react'
import { InputError } from '../shared/api/error-text.ts'
import { Markdown } from '../shared/markdown/markdown.tsx'
import { t } from '../shared/text/labels.ts'

interface ChoiceInputProps {
  label: string
  name: string
  value: string
  choices: readonly (readonly [value: string, text: string])[]
}

/** A labelled select element. */
export function ChoiceInput({ label, name, value, choices }: ChoiceInputProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <select id={id} name={name} defaultValue={value}>
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </div>
  )
}

interface CheckInputProps {
  label: string
  name: string
  value?: string
  isChecked: boolean
}

export const CheckInput = ({ label, name, value = 'yes', isChecked }: CheckInputProps) => (
  <label className="check">
    <input type="checkbox" name={name} value={value} defaultChecked={isChecked} /> {label}
  </label>
)

interface TextInputProps {
  label: string
  name: string
  value: string
  hint?: string
  rows?: number
}

/** A labelled field for several lines of text. */
export function TextInput({ label, name, value, hint, rows = 4 }: TextInputProps) {
  const id = useId()
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      <textarea
        id={id}
        className="text-area"
        name={name}
        defaultValue={value}
        rows={rows}
        dir="auto"
        aria-describedby={hint && `${id}-hint`}
      />
      {hint && (
        <p className="hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </div>
  )
}

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
    <div className="with-preview" onChange={(event) => setText((event.target as unknown as HTMLTextAreaElement).value)}>
      <TextInput label={label} name={name} value={value} rows={6} {...(hint && { hint })} />
      <section className="text-preview" aria-label={`${t('app.admin.preview')}: ${label}`}>
        <Markdown text={text} />
      </section>
    </div>
  )
}

interface InlineFormProps {
  /** The label of the button. */
  action: string
  className?: string
  isWorking?: boolean
  submit: (form: FormData) => unknown
  children: ReactNode
}

/** A form with one field and its button beside it. */
export function InlineForm({
  action,
  className = 'quiet-button',
  isWorking = false,
  submit,
  children,
}: InlineFormProps) {
  const send = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (!isWorking) void submit(new FormData(event.currentTarget))
  }
  return (
    <form className="try" onSubmit={send}>
      {children}
      <button type="submit" className={className} aria-disabled={isWorking}>
        {isWorking ? t('page.working') : action}
      </button>
    </form>
  )
}

/** Reads a field and trims its text. */
export const readText = (form: FormData, name: string): string => String(form.get(name) ?? '').trim()

/** Reads words that commas or line breaks separate. */
export const readWords = (form: FormData, name: string): string[] =>
  readText(form, name)
    .split(/[,\n]/)
    .map((word) => word.trim())
    .filter((word) => word !== '')

/** Reads a field with JSON; null if it is empty. */
export function readJson(form: FormData, name: string): unknown {
  const text = readText(form, name)
  if (text === '') return null
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new InputError(t('app.admin.badJson', { reason: error instanceof Error ? error.message : '' }))
  }
}

export const formatJson = (value: unknown): string =>
  value === null || value === undefined ? '' : JSON.stringify(value, null, 2)

/** Reads a field with a number; null if it is empty. */
export function readNumber(form: FormData, name: string): number | null {
  const text = readText(form, name)
  return text === '' ? null : Number(text)
}
